import { join } from 'node:path';
import { QueuedTaskEngine } from '../../engines/queued-task.engine.js';
import { type SpeakInput, speakTask } from '../../engines/speech.js';
import type { EngineLoader } from '../../contract/engine-loader.js';
import { openGraph } from '../../runtime/open-graph.js';
import { loadPronouncer } from '../../speech/load-pronouncer.js';
import { speakHandler } from '../../speech/synthesizer.js';
import { loadTinyTtsMetadata } from './tiny-tts.metadata.js';
import { TinyTtsSynthesizer } from './tiny-tts.synthesizer.js';

/**
 * TinyTTS in the layout of its published ONNX export: symbols, tones and noise scales to `audio`. `metadata.json` and
 * the pronouncer's files are beside the graph.
 */
export const loadTinyTtsFamily: EngineLoader = async (options, sink) => {
  const { directory } = options;
  const [metadata, pronouncer] = await Promise.all([loadTinyTtsMetadata(directory), loadPronouncer(directory)]);
  const session = await openGraph({
    modelPath: join(directory, options.graphFile),
    providers: options.providers,
    intraOpThreads: options.intraOpThreads,
  });
  const engine = new QueuedTaskEngine({
    handlers: { [speakTask]: speakHandler(new TinyTtsSynthesizer(session, metadata, pronouncer)) },
    sink,
    onClose: () => session.release(),
  });
  const { provider, providerNote } = session;
  const voice = [...metadata.speakers.keys()][0] ?? '';
  const input: SpeakInput = { text: 'Ready.', before: 'end', voice, speed: 1, language: null };
  return { engine, provider, providerNote, slots: options.slots, warmUp: { task: speakTask, input } };
};
