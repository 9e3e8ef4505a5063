import { join } from 'node:path';
import { PlatformError } from '#common';
import type { EngineSink } from '../contract/engine.js';
import { QueuedTaskEngine, type TaskContext, type TaskHandler } from '../engines/queued-task.engine.js';
import type { HostLoadOptions, LoadedEngine, WarmUp } from '../contract/engine-loader.js';
import type { GraphSession } from '../runtime/graph-session.js';
import { openGraph } from '../runtime/open-graph.js';
import { BlockRecognizer, type WindowRecognizer } from './block-recognizer.js';
import { MergedDecoder } from './merged-decoder.js';
import { type RecognitionInput, recognitionSampleRate, recognitionTask } from './speech-recognition.js';
import { VoiceActivity } from './voice-activity.js';

const warmUpTask = 'warm-up';

/** Tasks supported by the engine of a speech recognition family. */
function recognitionHandlers(recognizer: BlockRecognizer): Record<string, TaskHandler> {
  return {
    [recognitionTask]: (input: RecognitionInput, context: TaskContext) => recognizer.recognize(input, context),
    [warmUpTask]: async ({ samples }: { samples: Float32Array }, context: TaskContext) => {
      await recognizer.warmUp(samples, context);
      return {};
    },
  };
}

/** One second of a tone. It contains no speech, but runs every graph once. */
const recognitionWarmUp: WarmUp = {
  task: warmUpTask,
  input: {
    samples: Float32Array.from({ length: recognitionSampleRate }, (_, index) => 0.1 * Math.sin(index / 20)),
  },
};

/** Graphs that a recognizer with a merged decoder uses. */
export interface RecognitionGraphs {
  encoder: GraphSession;
  decoder: MergedDecoder;
}

export interface RecognitionFamily {
  /** Family name in manifests. */
  name: string;
  /** Transcribes one window after another. */
  recognizerOf(graphs: RecognitionGraphs): WindowRecognizer;
}

/**
 * Loads the engine of a family with an encoder (`graphFile`) and a merged decoder (`familyOptions.decoderFile`).
 * Rejects with `INVALID_MANIFEST` if no decoder is named.
 */
export async function loadRecognitionEngine(
  { name, recognizerOf }: RecognitionFamily,
  options: HostLoadOptions,
  sink: EngineSink,
): Promise<LoadedEngine> {
  const { directory, graphFile, familyOptions, providers, intraOpThreads } = options;
  const { decoderFile } = familyOptions;
  if (typeof decoderFile !== 'string') {
    throw new PlatformError('INVALID_MANIFEST', `The family ${name} needs familyOptions.decoderFile.`);
  }
  // The graphs run in turn; spinning threads of one would take CPU time from the other.
  const session = { providers, intraOpThreads, spinning: false };
  const encoder = await openGraph({
    ...session,
    modelPath: join(directory, graphFile),
    outputs: ['last_hidden_state'],
  });
  const decoder = new MergedDecoder(await openGraph({ ...session, modelPath: join(directory, decoderFile) }));
  const release = async (): Promise<void> => {
    await encoder.release();
    await decoder.release();
  };
  return await recognitionEngine({ encoder, recognizer: recognizerOf({ encoder, decoder }), release }, options, sink);
}

/** A recognizer with its graphs open. */
export interface OpenRecognizer {
  /** The graph with most of the work, whose provider is that of the model. */
  encoder: GraphSession;
  recognizer: WindowRecognizer;
  /** Releases all graphs of the recognizer. */
  release(): Promise<void>;
}

/** Returns the engine of a recognizer, with the voice activity graph of the manifest. */
export async function recognitionEngine(
  { encoder, recognizer, release }: OpenRecognizer,
  options: HostLoadOptions,
  sink: EngineSink,
): Promise<LoadedEngine> {
  const voice = await loadVoiceActivity(options);
  const engine = new QueuedTaskEngine({
    handlers: recognitionHandlers(new BlockRecognizer(recognizer, voice)),
    sink,
    onClose: async () => {
      await release();
      await voice?.release();
    },
  });
  const { provider, providerNote } = encoder;
  return { engine, provider, providerNote, slots: options.slots, warmUp: recognitionWarmUp };
}

/**
 * Opens the voice activity graph of the manifest (`familyOptions.voiceActivityFile`); null without one. It runs on one
 * CPU thread on every device, because it is too small for a GPU.
 */
export async function loadVoiceActivity({ directory, familyOptions }: HostLoadOptions): Promise<VoiceActivity | null> {
  const file = familyOptions.voiceActivityFile;
  if (typeof file !== 'string') return null;
  const session = await openGraph({
    modelPath: join(directory, file),
    providers: ['cpu'],
    intraOpThreads: 1,
    spinning: false,
  });
  return new VoiceActivity(session);
}
