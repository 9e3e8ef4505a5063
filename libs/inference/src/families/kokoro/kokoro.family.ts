import { join } from 'node:path';
import { QueuedTaskEngine } from '../../engines/queued-task.engine.js';
import { type SpeakInput, speakTask } from '../../engines/speech.js';
import type { EngineLoader } from '../../contract/engine-loader.js';
import { openGraph } from '../../runtime/open-graph.js';
import { loadPronouncer } from '../../speech/load-pronouncer.js';
import { speakHandler } from '../../speech/synthesizer.js';
import { KokoroSynthesizer } from './kokoro.synthesizer.js';
import { KokoroVoices } from './kokoro.voices.js';

const publishedSampleRate = 24_000;

/**
 * Kokoro in the layout of its published ONNX export: `input_ids`, `style` and `speed` to `waveform`. `voices/*.bin` and
 * the pronouncer's files are beside the graph. `familyOptions.sampleRate` is for exports of another rate.
 */
export const loadKokoroFamily: EngineLoader = async (options, sink) => {
  const { directory, familyOptions } = options;
  const [voices, pronouncer] = await Promise.all([KokoroVoices.open(directory), loadPronouncer(directory)]);
  const session = await openGraph({
    modelPath: join(directory, options.graphFile),
    providers: options.providers,
    intraOpThreads: options.intraOpThreads,
  });
  const sampleRate = Number(familyOptions.sampleRate ?? publishedSampleRate);
  const speaker = new KokoroSynthesizer(session, voices, pronouncer, sampleRate);
  const engine = new QueuedTaskEngine({
    handlers: { [speakTask]: speakHandler(speaker) },
    sink,
    onClose: () => session.release(),
  });
  const { provider, providerNote } = session;
  const input: SpeakInput = { text: 'Ready.', before: 'end', voice: voices.names[0] ?? '', speed: 1, language: null };
  return { engine, provider, providerNote, slots: options.slots, warmUp: { task: speakTask, input } };
};
