import { describe, expect, it } from 'vitest';
import { LimitConfig } from './limit-config.js';
import type { LimitOverride } from './limit-override.js';

const none = { requests: null, tokens: null };

function setUp() {
  let nowMs = 0;
  const table = { overrides: [] as LimitOverride[], away: false, reads: 0 };
  const read = () => {
    table.reads += 1;
    return table.away ? Promise.reject(new Error('away')) : Promise.resolve(table.overrides);
  };
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const limitConfig = new LimitConfig(read, { plain: none, key: none, installation: none }, clock);
  const ofKey = async () => (await limitConfig.page()).ofKey('k').requests;
  return { limitConfig, table, ofKey, pass: (ms: number) => (nowMs += ms) };
}

describe('LimitConfig', () => {
  it('reads once in 5 s, however many ask, and then sees changes', async () => {
    const { table, ofKey, pass } = setUp();
    await Promise.all([ofKey(), ofKey(), ofKey()]);
    table.overrides = [{ accountId: null, apiKeyId: 'k', target: '*', requests: 3, tokens: null }];
    pass(4_999);
    expect(await ofKey()).toBeNull();
    pass(1);
    expect(await ofKey()).toBe(3);
    expect(table.reads).toBe(2);
  });

  it('continues with what it knew while the database is unavailable', async () => {
    const { table, ofKey, pass } = setUp();
    table.overrides = [{ accountId: null, apiKeyId: 'k', target: '*', requests: 3, tokens: null }];
    await ofKey();
    table.away = true;
    pass(5_000);
    expect(await ofKey()).toBe(3);
  });

  it('admits nothing before it has read anything', async () => {
    const { table, limitConfig } = setUp();
    table.away = true;
    await expect(limitConfig.page()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    table.away = false;
    await limitConfig.page();
  });
});
