import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QueueCounts } from '#queue';
import { QueueLimit, type QueueLimitOptions, type QueuePosition } from './queue-limit.js';

const job = { modality: 'echo', modelId: 'm' };

/** A queue that responds after one turn of the event loop, and counts its calls. */
class FakeQueue {
  waiting = 0;
  ahead = 0;
  looks = 0;
  places = 0;

  async countAhead(): Promise<number> {
    this.places += 1;
    return this.ahead;
  }

  async counts(): Promise<QueueCounts> {
    this.looks += 1;
    await Promise.resolve();
    const { waiting } = this;
    await Promise.resolve();
    return { waiting, active: 7, delayed: 0 };
  }

  enqueue(position: QueuePosition): void {
    this.waiting += 1;
    position.settle();
  }
}

function setUp(limit: number, options: Partial<QueueLimitOptions> = {}) {
  const queue = new FakeQueue();
  const time = { nowMs: 0 };
  const clock = { nowMs: () => time.nowMs, monotonicMs: () => time.nowMs };
  return { queue, time, limit: new QueueLimit({ producer: queue, limit, clock, ...options }) };
}

function takeMany(limit: QueueLimit, count: number): Promise<(QueuePosition | null)[]> {
  const take = () => limit.take(job).catch(() => null);
  return Promise.all(Array.from({ length: count }, take));
}

function admitted(positions: (QueuePosition | null)[]): QueuePosition[] {
  return positions.filter((position) => position !== null);
}

describe('QueueLimit', () => {
  it('admits no more of a burst than the limit, with one read of the queue', async () => {
    const { queue, limit } = setUp(2);
    expect(admitted(await takeMany(limit, 80))).toHaveLength(2);
    expect(queue.looks).toBe(1);
    expect(admitted(await takeMany(limit, 80))).toHaveLength(0);
    expect(queue.looks).toBe(2);
    await expect(limit.take(job)).rejects.toMatchObject({ code: 'MODEL_AT_CAPACITY' });
    await expect(limit.take({ ...job, modelId: 'other' })).resolves.toBeDefined();
  });

  describe('with a known throughput', () => {
    const turn = { account: 'a' };
    /** 10 jobs per second. */
    const rateOf = () => 0.01;

    it('refuses a request that would wait for longer than it may, and says how long and when to come back', async () => {
      const { queue, limit, time } = setUp(1_000, { rateOf, random: () => 0.5 });
      Object.assign(queue, { waiting: 400, ahead: 360 });
      await limit.take({ ...job, turn, maxWaitMs: 30_000 });
      time.nowMs = 200;
      const refused = await limit.take({ ...job, turn, maxWaitMs: 30_000 }).catch((error: unknown) => error);
      // 60 jobs have to end before, and then half of the 401 that wait.
      expect(refused).toMatchObject({ code: 'MODEL_AT_CAPACITY', retry: { afterSeconds: 27 } });
      expect(String(refused)).toContain('wait for about 36 s, longer than 30 s. Try again in 27 s.');
    });

    it('admits the same request of an account that has a place in front', async () => {
      const { queue, limit } = setUp(1_000, { rateOf });
      Object.assign(queue, { waiting: 400, ahead: 2 });
      for (let request = 0; request < 3; request += 1) await limit.take({ ...job, turn, maxWaitMs: 30_000 });
      expect(queue.places).toBe(2);
    });

    it('does not ask for a place while the whole queue is short enough, nor for jobs that nobody waits for', async () => {
      const { queue, limit } = setUp(1_000, { rateOf });
      queue.waiting = 290;
      for (let request = 0; request < 5; request += 1) await limit.take({ ...job, turn, maxWaitMs: 30_000 });
      queue.waiting = 900;
      for (let request = 0; request < 5; request += 1) await limit.take({ ...job, turn });
      expect(queue.places).toBe(0);
    });

    it('still refuses what is beyond the number of jobs, with the work that waits', async () => {
      const { queue, limit } = setUp(100, { rateOf, random: () => 0 });
      queue.waiting = 119;
      const refused = await limit.take(job).catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: 'MODEL_AT_CAPACITY', retry: { afterSeconds: 2 } });
      expect(String(refused)).toContain('Too many requests wait for this model: 119, about 12 s of work.');
    });
  });

  it('falls back to the number of jobs where no throughput is known, and spreads retries over some seconds', async () => {
    const { queue, limit } = setUp(1_000, { rateOf: () => null });
    queue.waiting = 999;
    await limit.take({ ...job, turn: { account: 'a' }, maxWaitMs: 1 });
    const refused = (await limit.take(job).catch((error: unknown) => error)) as { retry: { afterSeconds: number } };
    expect(refused.retry.afterSeconds).toBeGreaterThanOrEqual(5);
    expect(refused.retry.afterSeconds).toBeLessThanOrEqual(10);
  });

  it('reads once in 100 ms while there is capacity', async () => {
    const { queue, time, limit } = setUp(100);
    for (let index = 0; index < 50; index += 1) queue.enqueue(await limit.take(job));
    expect(queue.looks).toBe(1);
    time.nowMs = 100;
    queue.enqueue(await limit.take(job));
    expect(queue.looks).toBe(2);
  });

  it('admits requests again as soon as workers have made room', async () => {
    const { queue, limit } = setUp(1);
    queue.enqueue(await limit.take(job));
    await expect(limit.take(job)).rejects.toMatchObject({ code: 'MODEL_AT_CAPACITY' });
    queue.waiting = 0;
    await expect(limit.take(job)).resolves.toBeDefined();
  });

  it('sees what other replicas admit, and overshoots by no more than that', async () => {
    const { queue, time, limit } = setUp(10);
    queue.enqueue(await limit.take(job));
    queue.waiting += 4;
    for (const position of admitted(await takeMany(limit, 80))) queue.enqueue(position);
    expect(queue.waiting).toBeLessThanOrEqual(14);
    time.nowMs = 100;
    expect(admitted(await takeMany(limit, 80))).toHaveLength(0);
  });

  it('gives the position of a job that never arrived to another', async () => {
    const { limit } = setUp(1);
    (await limit.take(job)).settle();
    await expect(limit.take(job)).resolves.toBeDefined();
  });

  it('passes on that the queue cannot be read, and reads again', async () => {
    const { queue, limit } = setUp(1);
    const answer = queue.counts.bind(queue);
    queue.counts = () => Promise.reject(new Error('away'));
    await expect(limit.take(job)).rejects.toThrow('away');
    queue.counts = answer;
    await expect(limit.take(job)).resolves.toBeDefined();
  });

  it('holds for one replica whatever the order of admissions, arrivals and time', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('burst' as const), count: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ kind: fc.constantFrom('arrive' as const, 'work' as const, 'later' as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 6 }), fc.array(step, { maxLength: 30 }), async (max, steps) => {
        const { queue, time, limit } = setUp(max);
        const onTheWay: QueuePosition[] = [];
        for (const each of steps) {
          if (each.kind === 'burst') onTheWay.push(...admitted(await takeMany(limit, each.count)));
          else if (each.kind === 'later') time.nowMs += 60;
          else if (each.kind === 'work') queue.waiting = Math.max(0, queue.waiting - 1);
          else for (const position of onTheWay.splice(0, 2)) queue.enqueue(position);
          expect(queue.waiting + onTheWay.length).toBeLessThanOrEqual(max);
        }
      }),
    );
  });
});
