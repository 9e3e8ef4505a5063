import { describe, expect, it } from 'vitest';
import { poolKeys } from '../pools/pool-keys.js';
import { keysOfModels, type QueueKeys } from '../seal/queue-keys.js';
import { BusKeys } from './bus-keys.js';

const [key, newKey] = ['ab'.repeat(32), 'cd'.repeat(32)] as const;
const bytes = Buffer.from('a message');
const stopped = { nowMs: () => 0, monotonicMs: () => 0 };

/** Returns the models whose keys it derives, as they come. */
function watchDerived(busKeys: BusKeys): string[] {
  const derived: string[] = [];
  const { keys } = busKeys as unknown as { keys: QueueKeys };
  const keysOf = keys.keysOf.bind(keys);
  keys.keysOf = (modelId) => {
    derived.push(modelId);
    return keysOf(modelId);
  };
  return derived;
}

describe('BusKeys', () => {
  it('prove the models of a worker, to whoever has their keys', () => {
    const [api, worker] = [new BusKeys([key]), new BusKeys(poolKeys([key], ['b', 'a']))];
    const proof = worker.sign(bytes);
    const results = [['a', 'b'], ['a'], ['b'], ['a', 'b', 'c'], ['b', 'a'], [], null].map((models) =>
      api.verify(models, bytes, proof),
    );
    expect(results).toEqual(['genuine', ...Array.from({ length: 6 }, () => 'forged')]);
    expect(api.verify(['a', 'b'], Buffer.from('another'), proof)).toBe('forged');
    for (const [models, verification] of [
      [['a', 'b', 'c'], 'genuine'],
      [['a'], 'foreign'],
      [['c'], 'foreign'],
    ] as const) {
      expect(new BusKeys(poolKeys([key], models)).verify(['a', 'b'], bytes, proof)).toBe(verification);
    }
  });

  it('verify what old and new keys signed while the key of the installation is changed', () => {
    const during = new BusKeys([newKey, key]);
    for (const each of [[key], [newKey], [newKey, key], [key, newKey]]) {
      expect(during.verify(null, bytes, new BusKeys(each).sign(bytes))).toBe('genuine');
      expect(during.verify(['a'], bytes, new BusKeys(keysOfModels(each, ['a'])).sign(bytes))).toBe('genuine');
    }
    expect(new BusKeys([newKey]).verify(null, bytes, new BusKeys([key]).sign(bytes))).toBe('forged');
  });

  it('derive few keys for made-up names, and none for who has no key at all', () => {
    const api = new BusKeys([key], stopped);
    const derived = watchDerived(api);
    const first = new BusKeys(poolKeys([key], ['a'])).sign(bytes);
    for (let attempt = 0; attempt < 200; attempt += 1) {
      api.verify(['a', `b${attempt}`, `c${attempt}`], bytes, first);
      api.verify(['b', `b${attempt}`, `c${attempt}`], bytes, first);
    }
    expect(new Set(derived)).toContain('a');
    // The first name of a message is the only one that costs something each time.
    expect(derived.filter((modelId) => modelId !== 'b').length).toBeLessThan(100);
    // Others are not held up.
    const honest = new BusKeys(poolKeys([key], ['b', 'c']));
    expect(api.verify(['b', 'c'], bytes, honest.sign(bytes))).toBe('genuine');
  });

  it.each([
    ['api', [key], 2],
    ['a worker of the pool', poolKeys([key], ['b', 'c']), 25],
  ])('still verify the messages of a pool for %s after many with made-up names', (_, sealKeys, count) => {
    const receiver = new BusKeys(sealKeys, stopped);
    const derived = watchDerived(receiver);
    const honest = new BusKeys(poolKeys([key], ['b', 'c']));
    const rounds = Array.from({ length: count }, (_each, round) => {
      for (let each = 0; each < 1_000; each += 1) receiver.verify([`x${round * 1_000 + each}`], bytes, 'AAAA');
      return receiver.verify(['b', 'c'], bytes, honest.sign(bytes));
    });
    expect(new Set(rounds)).toEqual(new Set(['genuine']));
    expect(derived.filter((modelId) => modelId === 'c')).toHaveLength(1);
  });

  it('remember the models of whoever still sends', () => {
    const api = new BusKeys([key], stopped);
    const derived = watchDerived(api);
    const honest = new BusKeys(poolKeys([key], ['b', 'c']));
    for (let first = 0; first < 55; first += 1) {
      for (let second = 0; second < 19; second += 1) {
        const models = [`x${first}`, `y${second}`];
        const other = new BusKeys(keysOfModels([key], models));
        expect(api.verify(models, bytes, other.sign(bytes))).toBe('genuine');
      }
      expect(api.verify(['b', 'c'], bytes, honest.sign(bytes))).toBe('genuine');
    }
    expect(derived.filter((modelId) => modelId === 'c')).toHaveLength(1);
  });

  it('ignore peers that share the first model alone, at every heartbeat', () => {
    const worker = new BusKeys(poolKeys([key], ['a', 'b']), stopped);
    const peer = new BusKeys(poolKeys([key], ['a', 'c']));
    const beats = Array.from({ length: 50 }, () => worker.verify(['a', 'c'], bytes, peer.sign(bytes)));
    expect(new Set(beats)).toEqual(new Set(['foreign']));
  });
});
