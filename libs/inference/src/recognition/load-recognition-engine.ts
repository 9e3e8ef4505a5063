import { join } from 'node:path';
import { PlatformError } from '#common';
import type { EngineSink } from '../contract/engine.js';
import { QueuedTaskEngine } from '../engines/queued-task.engine.js';
import type { LoadedEngine, HostLoadOptions } from '../contract/engine-loader.js';
import type { GraphSession } from '../runtime/graph-session.js';
import { openGraph } from '../runtime/open-graph.js';
import { BlockRecognizer, type WindowRecognizer } from './block-recognizer.js';
import { loadVoiceActivity } from './load-voice-activity.js';
import { MergedDecoder } from './merged-decoder.js';
import { recognitionHandlers, recognitionWarmUp } from './recognition-task.js';

/** Recognizer and voice activity detection of a family. */
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
  const voice = await loadVoiceActivity(options);
  const engine = new QueuedTaskEngine({
    handlers: recognitionHandlers(new BlockRecognizer(recognizerOf({ encoder, decoder }), voice)),
    sink,
    onClose: async () => {
      await encoder.release();
      await decoder.release();
      await voice?.release();
    },
  });
  const { provider, providerNote } = encoder;
  return { engine, provider, providerNote, slots: options.slots, warmUp: recognitionWarmUp };
}
