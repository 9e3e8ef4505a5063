import { join } from 'node:path';
import { loadPiperVoice } from '#model-store/voices';
import type { EngineLoader } from '../../contract/engine-loader.js';
import { QueuedTaskEngine } from '../../engines/queued-task.engine.js';
import { type SpeakInput, speakTask } from '../../engines/speech.js';
import { openGraph } from '../../runtime/open-graph.js';
import { loadPronouncer } from '../../speech/load-pronouncer.js';
import { speakHandler } from '../../speech/synthesizer.js';
import { PiperSynthesizer } from './piper.synthesizer.js';

/**
 * A Piper voice as it is published: a graph, and beside it the settings under the same name with `.json`. English
 * voices need the pronouncer's files, too; voices that read letters need none.
 */
export const loadPiperFamily: EngineLoader = async (options, sink) => {
  const { directory } = options;
  const modelPath = join(directory, options.graphFile);
  const voice = await loadPiperVoice(`${modelPath}.json`);
  const pronouncer = voice.phonemeType === 'espeak' ? await loadPronouncer(directory) : null;
  const session = await openGraph({ modelPath, providers: options.providers, intraOpThreads: options.intraOpThreads });
  const synthesizer = new PiperSynthesizer(session, voice, pronouncer);
  const engine = new QueuedTaskEngine({
    handlers: { [speakTask]: speakHandler(synthesizer) },
    sink,
    onClose: () => session.release(),
  });
  const { provider, providerNote } = session;
  const [name = ''] = synthesizer.voices;
  const input: SpeakInput = { text: 'Ready.', before: 'end', voice: name, speed: 1, language: null };
  return { engine, provider, providerNote, slots: options.slots, warmUp: { task: speakTask, input } };
};
