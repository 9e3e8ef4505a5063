import { serveModelHost } from '#inference/host';
import { DeterministicEngine } from './deterministic-engine.js';
import { EngineJournalWriter } from './engine-journal.js';

/* Entry of a model host whose engine is the test double: same protocol, no model. */
serveModelHost(async ({ slots, contextLength }, sink) => {
  const path = process.env.SLUICE_TEST_JOURNAL;
  const journal = path === undefined ? null : new EngineJournalWriter(path);
  const engine = new DeterministicEngine({ slots, contextLength, sink: journal === null ? sink : journal.watch(sink) });
  const served = journal === null ? engine : journal.attach(engine);
  return { engine: served, provider: 'cpu', providerNote: 'deterministic test engine', slots };
});
