import { describe, expect, it } from 'vitest';
import { QueueKeys } from '../seal/queue-keys.js';
import { poolKeys } from './pool-keys.js';

const [older, newer] = ['ab'.repeat(32), 'cd'.repeat(32)] as const;

describe('the keys of a pool', () => {
  it('are those of its models, and one for each key of the installation that verifies messages', () => {
    const keys = poolKeys([newer, older], ['a']);
    expect(keys.map((key) => key.split(':')[0])).toEqual(['a', 'a', '@bus', '@bus']);
    // The form that SLUICE_QUEUE_KEY accepts, even in versions without signatures.
    for (const key of keys) expect(key).toMatch(/^[^:,]+:[0-9a-f]{64}$/);
    expect(new QueueKeys(keys).models).toEqual(['a']);
    expect(keys.join()).not.toMatch(new RegExp(`${older}|${newer}`));
  });
});
