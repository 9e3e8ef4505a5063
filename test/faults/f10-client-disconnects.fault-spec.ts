import { expect, it } from 'vitest';
import type { EngineRun } from '#test/engine-journal';
import type { Platform } from '#test/platform';
import { seededRandom } from '#test/seeded-random';
import { askWhole, ChatStreamReader } from './chat-caller.js';
import { amount, describeFault, eventually, pause } from './fault-scene.js';
import { ledgerOf, chatCostNano } from './job-ledger.js';
import { MachineBaseline } from './machine-baseline.js';

/* F10: clients disconnect during their responses. */

const trials = amount({ full: 100, quick: 15 });
const atOnce = 5;
const stopWithinMs = 250;
const stepMs = 125;
const directives = `tokens=400 delay=${stepMs}`;

interface Leave {
  requestId: string;
  leftAtMs: number;
}

/** Disconnects from a stream at its k-th token. */
async function disconnectFromStream(
  platform: Platform,
  { text, token }: { text: string; token: number },
): Promise<Leave> {
  const stream = await ChatStreamReader.open(platform, { directives, text });
  await stream.untilTokens(token);
  const leftAtMs = Date.now();
  stream.leave();
  return { requestId: stream.requestId, leftAtMs };
}

/** Disconnects from a non-streaming response when the engine has generated about k tokens. */
async function disconnectBeforeResponse(
  platform: Platform,
  { text, token }: { text: string; token: number },
): Promise<Leave> {
  const known = new Set((await platform.journal.runs()).map(({ requestId }) => requestId));
  const connection = new AbortController();
  const asked = askWhole(platform, { directives, text }, connection.signal).catch(() => null);
  const run = await eventually('the engine has begun', async () =>
    (await platform.journal.runs()).find(({ requestId }) => !known.has(requestId)),
  );
  await pause(token * stepMs + stepMs / 2);
  const leftAtMs = Date.now();
  connection.abort();
  await asked;
  return { requestId: run.requestId, leftAtMs };
}

function endOf(platform: Platform, requestId: string): Promise<EngineRun> {
  return eventually('the generation has stopped', async () =>
    (await platform.journal.runsOf(requestId)).find(({ endedAtMs }) => endedAtMs !== null),
  );
}

type DisconnectResult = (platform: Platform, options: { text: string; token: number }) => Promise<Leave>;

describeFault('F10', { env: { SLUICE_SLOTS: '16' } }, (running) => {
  it.each<{ kind: string; leave: DisconnectResult; width: number }>([
    { kind: 'a stream', leave: disconnectFromStream, width: atOnce },
    // Sequential: a run can only be matched to its request while no other begins.
    { kind: 'a complete response', leave: disconnectBeforeResponse, width: 1 },
  ])(
    `${trials} clients that disconnect from $kind stop it at once and are charged for what was generated`,
    async ({ leave, width }) => {
      const platform = running();
      const baseline = new MachineBaseline(platform);
      baseline.start();
      const random = seededRandom(10);
      const left: Leave[] = [];
      for (let trial = 0; trial < trials; trial += width) {
        const group = Array.from({ length: width }, (_, index) => ({
          text: `Leave ${trial + index}`,
          token: 1 + Math.floor(random() * (width === 1 ? 3 : 12)),
        }));
        left.push(...(await Promise.all(group.map((options) => leave(platform, options)))));
      }
      const runs = await Promise.all(left.map(({ requestId }) => endOf(platform, requestId)));
      baseline.stop();
      await platform.closedJobs();
      const ledgerState = await ledgerOf(
        platform,
        left.map(({ requestId }) => requestId),
      );
      for (const [index, { leftAtMs }] of left.entries()) {
        const { cancelledAtMs, endedAtMs, lastTokenAtMs, tokens } = runs[index] ?? ({} as EngineRun);
        const machineMs = baseline.slowestMs({ fromMs: leftAtMs - 500, toMs: leftAtMs + 1_000 });
        expect((cancelledAtMs ?? Infinity) - leftAtMs).toBeLessThanOrEqual(stopWithinMs + machineMs);
        expect((endedAtMs ?? Infinity) - leftAtMs).toBeLessThanOrEqual(stopWithinMs + machineMs);
        expect((lastTokenAtMs ?? -Infinity) - leftAtMs).toBeLessThanOrEqual(stopWithinMs + machineMs);
        expect(ledgerState[index]).toMatchObject({ state: 'cancelled', charges: 1, reservationState: 'settled' });
        expect(Math.abs((ledgerState[index]?.completionTokens ?? 0) - tokens)).toBeLessThanOrEqual(1);
        expect(ledgerState[index]?.chargedNano).toBe(ledgerState[index] && chatCostNano(ledgerState[index]));
      }
    },
    300_000,
  );
});
