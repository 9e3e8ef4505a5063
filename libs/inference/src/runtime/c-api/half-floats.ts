import { attentionFeeds, emptyCache } from '../attention-feeds.js';
import { floatsOf } from '../float-tensor.js';
import type { GraphTensor } from '../graph-session.js';
import { DeviceSession } from './device-session.js';

/**
 * Whether a device computes with half floats, found by doubling some: what it lacks shows only when a graph runs. Asked
 * once per process.
 */
export const takesHalfFloats = oncePerProvider(tryHalfFloats);

/**
 * Whether a device keeps caches of half floats: it attends to one and copies rows of it, and returns what the processor
 * does with floats: CUDA has no attention to caches of those. Asked once per process, of a device that computes with half
 * floats.
 */
export const takesHalfCaches = oncePerProvider(tryHalfCaches);

function oncePerProvider(ask: (provider: string) => Promise<boolean>): (provider: string) => Promise<boolean> {
  const known = new Map<string, Promise<boolean>>();
  return (provider) => {
    const trial = known.get(provider) ?? ask(provider);
    known.set(provider, trial);
    return trial;
  };
}

async function tryHalfFloats(provider: string): Promise<boolean> {
  const { halfFloatGraph } = await import('#model-store/device');
  const options = { modelPath: '', model: halfFloatGraph(), intraOpThreads: 1, spinning: false };
  const session = await DeviceSession.open(options, { provider, providerNote: null });
  try {
    const one = 0x3c00;
    const { y } = await session.run({ x: session.tensor('float16', Uint16Array.of(one, one), [2]) }, ['y']);
    const two = 0x4000;
    return y?.data instanceof Uint16Array && y.data.every((bits) => bits === two);
  } catch {
    return false;
  } finally {
    await session.release();
  }
}

/** How far results of values up to 1 may be apart. */
const tolerance = 0.01;

async function tryHalfCaches(provider: string): Promise<boolean> {
  try {
    const [floats, halves] = [await attendAndCopy('cpu', 'float32'), await attendAndCopy(provider, 'float16')];
    return floats.every((value, index) => Math.abs(value - (halves[index] ?? NaN)) <= tolerance);
  } catch {
    return false;
  }
}

/** Returns what attention to a few tokens gives, and their keys in a longer copy of the cache. */
async function attendAndCopy(provider: string, type: 'float32' | 'float16'): Promise<number[]> {
  const { attentionGraph, joinRowsGraph, pickRowsGraph } = await import('#model-store/device');
  const [heads, headSize, tokens, capacity] = [2, 64, 5, 8];
  const sizes = { heads, keyValueHeads: heads, headSize };
  const opened = [attentionGraph(sizes, type), pickRowsGraph(1, type), joinRowsGraph(1, type)].map((model) => {
    const options = { modelPath: '', model, intraOpThreads: 1, spinning: false, isWhole: provider !== 'cpu' };
    return DeviceSession.open(options, { provider, providerNote: null });
  });
  try {
    const [attending, picking, joining] = (await Promise.all(opened)) as [DeviceSession, DeviceSession, DeviceSession];
    const integers = (...values: number[]) => {
      return picking.tensor('int64', BigInt64Array.from(values, BigInt), [values.length]);
    };
    const feeds = attentionFeeds(attending, sizes, {
      cache: emptyCache(attending, sizes, capacity),
      length: 0,
      tokens,
    });
    const attended = await attending.run(feeds, ['y', 'present_key', 'present_value']);
    const key = attended['present_key'] as GraphTensor;
    const [none, more] = [integers(0, 0, 0, 0, 0, 0, 0, 0), integers(0, 0, 0, 0, 0, 0, capacity, 0)];
    const picked = await picking.run({ 'x.0': key, rows: integers(0), length: integers(tokens), pads: more }, ['y.0']);
    const copy = picked['y.0'] as GraphTensor;
    const both = { 'a.0': copy, 'b.0': copy, rows: integers(1, 0), pads_a: none, pads_b: none };
    const joined = await joining.run(both, ['y.0']);
    return [...floatsOf(attended['y']), ...floatsOf(joined['y.0'])];
  } finally {
    for (const session of await Promise.allSettled(opened)) {
      if (session.status === 'fulfilled') await session.value.release();
    }
  }
}
