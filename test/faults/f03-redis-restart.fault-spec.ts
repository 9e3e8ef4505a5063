import { expect, it } from 'vitest';
import type { Platform } from '#test/platform';
import { askWhole, type WholeResponse } from './chat-caller.js';
import { amount, describeFault, eventually, pause } from './fault-scene.js';
import { chatCostNano, readLedger } from './job-ledger.js';
import { MachineBaseline } from './machine-baseline.js';

/* F3: Redis restarts repeatedly under load. */

const restarts = amount({ full: 10, quick: 2 });
const requestsPerSecond = 50;
const downMs = 1_000;
const pickupWithinMs = 5_000;
const refusalWithinMs = 1_000;

interface Call extends WholeResponse {
  sentAtMs: number;
}

/** Maximum number of concurrent requests, so that a shared machine has no large backlog at the end. */
const maxAtOnce = 100;

/** Sends requests at a fixed rate, regardless of responses. */
class SteadyLoad {
  readonly calls: Promise<Call>[] = [];
  private timer: NodeJS.Timeout | undefined;
  private underWay = 0;

  constructor(private readonly platform: Platform) {}

  start(): void {
    this.timer = setInterval(() => {
      if (this.underWay < maxAtOnce) this.calls.push(this.call());
    }, 1_000 / requestsPerSecond);
  }

  async stop(): Promise<Call[]> {
    clearInterval(this.timer);
    return await Promise.all(this.calls);
  }

  private async call(): Promise<Call> {
    const sentAtMs = Date.now();
    const index = this.calls.length;
    // Some run for longer than Redis is down.
    const directives = index % 10 === 0 ? 'tokens=40 delay=50' : 'tokens=5';
    this.underWay += 1;
    const answer = await askWhole(this.platform, { directives, text: `Load ${index}` });
    this.underWay -= 1;
    return { ...answer, sentAtMs };
  }
}

describeFault(
  'F3',
  { env: { SLUICE_SLOTS: '32' }, redisArguments: ['--appendonly', 'yes', '--appendfsync', 'everysec'] },
  (running) => {
    it(`${restarts} restarts at ${requestsPerSecond} requests/s lose no accepted job`, async () => {
      const platform = running();
      const load = new SteadyLoad(platform);
      const outages: { fromMs: number; toMs: number }[] = [];
      const baseline = new MachineBaseline(platform);
      load.start();
      baseline.start();
      for (let restart = 0; restart < restarts; restart += 1) {
        await pause(2_000);
        const fromMs = Date.now();
        // Alternates clean and hard stops: the append-only file covers both.
        await platform.redis.stop({ signal: restart % 2 === 0 ? 'SIGTERM' : 'SIGKILL' });
        // A load balancer keeps the replica, whose own 503 says when to try again.
        expect((await fetch(`${platform.operationsUrl('api')}/health/ready`)).status).toBe(200);
        await pause(downMs);
        await platform.redis.start();
        outages.push({ fromMs, toMs: Date.now() });
        await firstAnswerAfter(load, Date.now());
      }
      await pause(1_000);
      const calls = await load.stop();
      baseline.stop();
      await platform.closedJobs(20_000);

      const ledgerState = await readLedger(platform);
      const byId = new Map(ledgerState.map((each) => [each.requestId, each]));
      for (const { status, requestId, errorCode } of calls) {
        expect([200, 503], `${requestId} ${errorCode}`).toContain(status);
        if (status === 200) expect(byId.get(requestId)).toMatchObject({ state: 'succeeded', charges: 1 });
      }
      for (const each of ledgerState) {
        expect(each.charges).toBe(each.state === 'succeeded' ? 1 : 0);
        if (each.charges === 1) expect(each.chargedNano).toBe(chatCostNano(each));
      }
      // Jobs that were queued or running when Redis stopped were accepted: each has its response.
      const answered = new Map(calls.map((call) => [call.requestId, call.status]));
      const accepted = ledgerState.filter(({ errorCode }) => errorCode !== 'SERVICE_UNAVAILABLE');
      expect(accepted.filter(({ requestId }) => answered.get(requestId) !== 200)).toEqual([]);

      for (const { fromMs, toMs } of outages) {
        const started = ledgerState.flatMap(({ finishedAt, createdAt }) =>
          finishedAt !== null && createdAt.getTime() >= toMs ? [finishedAt.getTime()] : [],
        );
        expect(Math.min(...started) - toMs).toBeLessThanOrEqual(pickupWithinMs);
        const refused = calls.filter(({ sentAtMs }) => sentAtMs > fromMs + 100 && sentAtMs < toMs - 100);
        expect(refused.length).toBeGreaterThan(0);
        for (const { status, headers, tookMs } of refused) {
          expect(status).toBe(503);
          expect(headers.get('retry-after')).toMatch(/^\d+$/);
          const machineMs = baseline.slowestMs({ fromMs: fromMs - 500, toMs: toMs + 1_000 });
          expect(tookMs).toBeLessThanOrEqual(refusalWithinMs + machineMs);
        }
      }
    }, 300_000);
  },
);

/** Waits until the platform responds again, so that the next restart finds it working. */
async function firstAnswerAfter(load: SteadyLoad, afterMs: number): Promise<void> {
  await eventually('a request succeeds again', async () => {
    const recent = load.calls.slice(-30).map((call) => Promise.race([call, Promise.resolve(null)]));
    return (await Promise.all(recent)).some((call) => call !== null && call.sentAtMs > afterMs && call.status === 200);
  });
}
