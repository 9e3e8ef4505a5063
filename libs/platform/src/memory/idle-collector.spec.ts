import { describe, expect, it } from 'vitest';
import { IdleCollector, thisProcess } from './idle-collector.js';

const megabyte = 2 ** 20;

/** A process with 50 MB of objects, and garbage that a collection frees. */
function fakeProcess() {
  const state = { garbage: 0, busy: 0, collections: 0, live: 50 * megabyte };
  const collector = new IdleCollector({
    usedBytes: () => state.live + state.garbage,
    busyShare: () => state.busy,
    collect: () => {
      state.collections += 1;
      state.garbage = 0;
    },
  });
  return { state, collector };
}

describe('a process without requests', () => {
  it('frees what the last requests left behind, once', () => {
    const { state, collector } = fakeProcess();
    collector.look();
    state.garbage = 100 * megabyte;
    collector.look();
    collector.look();
    expect(state).toMatchObject({ garbage: 0, collections: 1 });
  });

  it('does not collect again what it still uses', () => {
    const { state, collector } = fakeProcess();
    collector.look();
    state.live = 200 * megabyte;
    for (let look = 0; look < 5; look += 1) collector.look();
    expect(state.collections).toBe(1);
  });

  it('does not collect for a little garbage', () => {
    const { state, collector } = fakeProcess();
    collector.look();
    state.garbage = 5 * megabyte;
    collector.look();
    expect(state.collections).toBe(0);
  });
});

it('leaves a busy process alone', () => {
  const { state, collector } = fakeProcess();
  collector.look();
  Object.assign(state, { garbage: 100 * megabyte, busy: 0.5 });
  collector.look();
  expect(state.collections).toBe(0);
});

it('frees the buffers of this process that nothing refers to', async () => {
  const collector = new IdleCollector({ ...thisProcess(), busyShare: () => 0 });
  collector.look();
  const held = Array.from({ length: 4 }, () => Buffer.alloc(30 * megabyte));
  const before = process.memoryUsage().arrayBuffers;
  held.length = 0;
  collector.look();
  // A thread of V8 frees them.
  await expect.poll(() => process.memoryUsage().arrayBuffers).toBeLessThan(before - 100 * megabyte);
});
