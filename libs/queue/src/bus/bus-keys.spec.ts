import { describe, expect, it } from 'vitest';
import { poolKeys } from '../roles/pool-keys.js';
import { keysOfModels, type QueueKeys } from '../seal/queue-keys.js';
import { BusKeys } from './bus-keys.js';

const [key, newKey] = ['ab'.repeat(32), 'cd'.repeat(32)] as const;
const bytes = Buffer.from('a message');

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
    const clock = { nowMs: () => 0, monotonicMs: () => 0 };
    const api = new BusKeys([key], clock);
    const derived: string[] = [];
    const keysOf = (api as unknown as { keys: QueueKeys }).keys;
    const original = keysOf.keysOf.bind(keysOf);
    keysOf.keysOf = (modelId) => {
      derived.push(modelId);
      return original(modelId);
    };
    const first = new BusKeys(poolKeys([key], ['a'])).sign(bytes);
    for (let attempt = 0; attempt < 200; attempt += 1) {
      api.verify(['a', `b${attempt}`, `c${attempt}`], bytes, first);
      api.verify(['b', `b${attempt}`, `c${attempt}`], bytes, first);
    }
    expect(new Set(derived)).toContain('a');
    expect(derived.length).toBeLessThan(100);
    // Others are not held up.
    const honest = new BusKeys(poolKeys([key], ['b', 'c']));
    expect(api.verify(['b', 'c'], bytes, honest.sign(bytes))).toBe('genuine');
  });
});
