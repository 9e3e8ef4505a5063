import { dirname } from 'node:path';
import { serveModelHost } from '#inference/host';
import { DeterministicEngine } from './deterministic-engine.js';
import { DeterministicSpeaker } from './deterministic-speaker.js';
import { EngineJournalWriter } from './engine-journal.js';

/* Entry of a model host whose engine is the test double: same protocol, no model. */
serveModelHost(async ({ slots, contextLength, family }, sink) => {
  const path = process.env.SLUICE_TEST_JOURNAL;
  const about = { provider: 'cpu', providerNote: 'deterministic test engine', slots };
  if (path !== undefined && family === 'kokoro') {
    return { engine: new DeterministicSpeaker(sink, dirname(path)), ...about };
  }
  if (path === undefined) return { engine: new DeterministicEngine({ slots, contextLength, sink }), ...about };
  const journal = new EngineJournalWriter(path);
  const notesFolder = dirname(path);
  const engine = new DeterministicEngine({ slots, contextLength, sink: journal.watch(sink), notesFolder });
  return { engine: journal.attach(engine), ...about };
});
