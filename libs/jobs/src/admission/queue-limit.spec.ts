import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QueueCounts } from '#queue';
import { QueueLimit, type QueuePosition } from './queue-limit.js';

/** A queue that responds after one turn of the event loop, and counts its calls. */
class FakeQueue {
  waiting = 0;
  looks = 0;

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

function setUp(limit: number) {
  const queue = new FakeQueue();
  const time = { nowMs: 0 };
  const clock = { nowMs: () => time.nowMs, monotonicMs: () => time.nowMs };
  return { queue, time, limit: new QueueLimit(queue, limit, clock) };
}

function takeMany(limit: QueueLimit, count: number): Promise<(QueuePosition | null)[]> {
  const take = () => limit.take('echo', 'm').catch(() => null);
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
    await expect(limit.take('echo', 'm')).rejects.toMatchObject({ code: 'MODEL_AT_CAPACITY' });
    await expect(limit.take('echo', 'other')).resolves.toBeDefined();
  });

  it('reads once in 100 ms while there is capacity', async () => {
    const { queue, time, limit } = setUp(100);
    for (let index = 0; index < 50; index += 1) queue.enqueue(await limit.take('echo', 'm'));
    expect(queue.looks).toBe(1);
    time.nowMs = 100;
    queue.enqueue(await limit.take('echo', 'm'));
    expect(queue.looks).toBe(2);
  });

  it('admits requests again as soon as workers have made room', async () => {
    const { queue, limit } = setUp(1);
    queue.enqueue(await limit.take('echo', 'm'));
    await expect(limit.take('echo', 'm')).rejects.toMatchObject({ code: 'MODEL_AT_CAPACITY' });
    queue.waiting = 0;
    await expect(limit.take('echo', 'm')).resolves.toBeDefined();
  });

  it('sees what other replicas admit, and overshoots by no more than that', async () => {
    const { queue, time, limit } = setUp(10);
    queue.enqueue(await limit.take('echo', 'm'));
    queue.waiting += 4;
    for (const position of admitted(await takeMany(limit, 80))) queue.enqueue(position);
    expect(queue.waiting).toBeLessThanOrEqual(14);
    time.nowMs = 100;
    expect(admitted(await takeMany(limit, 80))).toHaveLength(0);
  });

  it('gives the position of a job that never arrived to another', async () => {
    const { limit } = setUp(1);
    (await limit.take('echo', 'm')).settle();
    await expect(limit.take('echo', 'm')).resolves.toBeDefined();
  });

  it('passes on that the queue cannot be read, and reads again', async () => {
    const { queue, limit } = setUp(1);
    const answer = queue.counts.bind(queue);
    queue.counts = () => Promise.reject(new Error('away'));
    await expect(limit.take('echo', 'm')).rejects.toThrow('away');
    queue.counts = answer;
    await expect(limit.take('echo', 'm')).resolves.toBeDefined();
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
