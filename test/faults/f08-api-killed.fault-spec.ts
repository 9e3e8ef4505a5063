import { expect, it } from 'vitest';
import { ChatStreamReader } from './chat-caller.js';
import { amount, describeFault, eventually } from './fault-scene.js';
import { ledgerOf, chatCostNano } from './job-ledger.js';

/* F8: an API replica is killed during its streams. */

const streamCount = amount({ full: 100, quick: 30 });
const cancelledWithinMs = 5_000;
const closedWithinMs = 60_000;
const roomy = { contextLength: 100_000, maxCompletionTokens: 100_000 };

describeFault(
  'F8',
  { replicas: { api: 2 }, env: { SLUICE_SLOTS: '128' }, models: [{ id: 'tiny-llama', manifest: roomy }] },
  (running) => {
    it(`${streamCount} streams of a killed replica stop within ${cancelledWithinMs / 1_000} s and are charged for what was generated`, async () => {
      const platform = running();
      const directives = 'tokens=2000 delay=100';
      const requests = Array.from({ length: streamCount }, (_, index) => ({ directives, text: `Stream ${index}` }));
      const streams = await Promise.all(
        requests.map((options) => ChatStreamReader.open(platform, { ...options, replica: 1 })),
      );
      const neighbour = await ChatStreamReader.open(platform, { directives: 'tokens=100 delay=100', replica: 0 });
      await Promise.all(streams.map((stream) => stream.untilTokens(1)));
      const killedAtMs = Date.now();
      await platform.kill('api-2');

      const runs = await eventually('every generation has stopped', async () => {
        const all = await platform.journal.runs();
        const doomed = all.filter(({ requestId }) => streams.some((stream) => stream.requestId === requestId));
        return doomed.every(({ endedAtMs }) => endedAtMs !== null) && doomed;
      });
      expect(runs).toHaveLength(streamCount);
      for (const { endedAtMs } of runs)
        expect((endedAtMs ?? Infinity) - killedAtMs).toBeLessThanOrEqual(cancelledWithinMs);

      await neighbour.ended;
      expect([neighbour.isComplete, neighbour.tokens]).toEqual([true, 100]);
      await platform.closedJobs(closedWithinMs);
      const generated = new Map(runs.map(({ requestId, tokens }) => [requestId, tokens]));
      const requestIds = streams.map(({ requestId }) => requestId);
      for (const ledgerState of await ledgerOf(platform, requestIds)) {
        expect(ledgerState).toMatchObject({ state: 'cancelled', charges: 1, reservationState: 'settled' });
        expect(ledgerState.completionTokens).toBe(generated.get(ledgerState.requestId));
        expect(ledgerState.chargedNano).toBe(chatCostNano(ledgerState));
        expect((ledgerState.finishedAt?.getTime() ?? Infinity) - killedAtMs).toBeLessThanOrEqual(closedWithinMs);
      }
      await platform.start('api-2');
    }, 180_000);
  },
);
