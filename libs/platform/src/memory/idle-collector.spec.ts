import { describe, expect, it } from 'vitest';
import { mebibyte } from '#common/values';
import { IdleCollector, thisProcess } from './idle-collector.js';

/** A process with 50 MB of objects, and garbage that a collection frees. */
function fakeProcess() {
  const state = { garbage: 0, busy: 0, collections: 0, live: 50 * mebibyte };
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
    state.garbage = 100 * mebibyte;
    collector.look();
    collector.look();
    expect(state).toMatchObject({ garbage: 0, collections: 1 });
  });

  it('frees what was in use at the last collection, and collects ever less often while it is', () => {
    const { state, collector } = fakeProcess();
    collector.look();
    state.live = 200 * mebibyte;
    // At looks 0, 2, 5 and 10; then every thirteenth.
    for (let look = 0; look < 17; look += 1) collector.look();
    expect(state.collections).toBe(4);
    for (let look = 0; look < 13 * 10; look += 1) collector.look();
    expect(state.collections).toBe(14);
    // The body of a request that waited becomes garbage without a change of the memory in use.
    Object.assign(state, { live: 50 * mebibyte, garbage: 150 * mebibyte });
    for (let look = 0; look < 13; look += 1) collector.look();
    expect(state.garbage).toBe(0);
  });

  it('collects at once when more has come', () => {
    const { state, collector } = fakeProcess();
    collector.look();
    state.live = 200 * mebibyte;
    for (let look = 0; look < 12; look += 1) collector.look();
    const before = state.collections;
    state.garbage = 30 * mebibyte;
    collector.look();
    expect(state).toMatchObject({ garbage: 0, collections: before + 1 });
  });

  it('does not collect for a little garbage', () => {
    const { state, collector } = fakeProcess();
    collector.look();
    state.garbage = 5 * mebibyte;
    collector.look();
    expect(state.collections).toBe(0);
  });
});

it('leaves a busy process alone', () => {
  const { state, collector } = fakeProcess();
  collector.look();
  Object.assign(state, { garbage: 100 * mebibyte, busy: 0.5 });
  collector.look();
  expect(state.collections).toBe(0);
});

it('takes no process for busy that waits for a processor', () => {
  const { busyShare } = thisProcess();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  expect(busyShare()).toBeLessThan(0.5);
});

it('frees the buffers of this process that nothing refers to', async () => {
  const collector = new IdleCollector({ ...thisProcess(), busyShare: () => 0 });
  collector.look();
  const held = Array.from({ length: 4 }, () => Buffer.alloc(30 * mebibyte));
  const before = process.memoryUsage().arrayBuffers;
  held.length = 0;
  collector.look();
  // A thread of V8 frees them.
  await expect.poll(() => process.memoryUsage().arrayBuffers).toBeLessThan(before - 100 * mebibyte);
});
