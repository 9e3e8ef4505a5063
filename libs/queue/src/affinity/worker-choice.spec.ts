import { describe, expect, it } from 'vitest';
import { type Candidate, chooseSpareSlot, chooseWorker } from './worker-choice.js';

function workers(count: number, load = 0, room = 16): Candidate[] {
  return Array.from({ length: count }, (_value, index) => ({ workerId: `worker-${index}`, room, load, spareSlots: 1 }));
}

function chosen(key: string, candidates: readonly Candidate[]): string | null {
  const choice = chooseWorker(key, candidates);
  return 'workerId' in choice ? choice.workerId : null;
}

const keys = Array.from({ length: 2_000 }, (_value, index) => `key-${index}`);

describe('chooseWorker', () => {
  it('chooses nobody where there is nothing to choose', () => {
    expect(chooseWorker('key', [])).toEqual({ refusal: 'alone' });
    expect(chooseWorker('key', workers(1))).toEqual({ refusal: 'alone' });
  });

  it('says the same in every process, in whatever order it heard of the workers', () => {
    const four = workers(4);
    for (const key of keys) expect(chosen(key, four.toReversed())).toBe(chosen(key, four));
  });

  it('spreads the keys', () => {
    const counts = new Map<string | null, number>();
    for (const key of keys) counts.set(chosen(key, workers(4)), (counts.get(chosen(key, workers(4))) ?? 0) + 1);
    for (const count of counts.values()) expect(count).toBeGreaterThan(400);
    expect(counts.size).toBe(4);
  });

  it('moves only the keys of a worker that goes, and only to one that comes', () => {
    const stayed = keys.filter((key) => chosen(key, workers(5)) !== 'worker-4');
    expect(stayed.length).toBeGreaterThan(1_400);
    expect(stayed.map((key) => chosen(key, workers(4)))).toEqual(stayed.map((key) => chosen(key, workers(5))));
  });

  it('passes over a worker without a free slot, always to the same next one', () => {
    const first = chosen('key', workers(3));
    const busy = workers(3).map((worker) => (worker.workerId === first ? { ...worker, room: 0 } : worker));
    const second = chosen('key', busy);
    expect(second).not.toBe(first);
    expect(second).not.toBeNull();
    expect(chosen('key', busy)).toBe(second);
  });

  it('passes over a worker above its share although it has room', () => {
    const first = chosen('key', workers(2));
    const lopsided = workers(2).map((worker) => (worker.workerId === first ? { ...worker, load: 4 } : worker));
    expect(chosen('key', lopsided)).not.toBe(first);
    const nearly = workers(2).map((worker) => ({ ...worker, load: worker.workerId === first ? 3 : 2 }));
    expect(chosen('key', nearly)).toBe(first);
  });

  it('keeps every load within a quarter of its share, rounded up, whatever the keys are', () => {
    const loads = new Map(workers(4).map(({ workerId }) => [workerId, 0]));
    for (let index = 0; index < 40; index += 1) {
      const now = workers(4).map((worker) => ({ ...worker, load: loads.get(worker.workerId) ?? 0 }));
      const workerId = chosen('one key for all', now);
      loads.set(workerId ?? '', (loads.get(workerId ?? '') ?? 0) + 1);
      const share = Math.ceil((1.25 * (index + 1)) / 4);
      expect(Math.max(...loads.values())).toBeLessThanOrEqual(share);
    }
  });

  it('chooses nobody when all are full', () => {
    expect(chooseWorker('key', workers(3, 5, 0))).toEqual({ refusal: 'full' });
  });
});

describe('chooseSpareSlot', () => {
  it('takes the worker with the fewest requests, and spreads keys over equal ones', () => {
    const loaded = workers(3, 2).map((worker, index) => (index === 1 ? { ...worker, load: 1 } : worker));
    expect(chooseSpareSlot('key', loaded)).toBe('worker-1');
    expect(chooseSpareSlot('key', [])).toBeNull();
    const taken = new Set(keys.map((key) => chooseSpareSlot(key, workers(4))));
    expect(taken).toEqual(new Set(['worker-0', 'worker-1', 'worker-2', 'worker-3']));
  });
});
