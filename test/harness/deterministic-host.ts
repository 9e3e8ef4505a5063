import { serveModelHost } from '#inference/host';
import { DeterministicEngine } from './deterministic-engine.js';

/* Entry of a model host whose engine is the test double: same protocol, no model. */
serveModelHost(async ({ slots, contextLength }, sink) => ({
  engine: new DeterministicEngine({ slots, contextLength, sink }),
  provider: 'cpu',
  providerNote: 'deterministic test engine',
  slots,
}));
