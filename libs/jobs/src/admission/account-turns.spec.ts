import { describe, expect, it } from 'vitest';
import { AccountTurns } from './account-turns.js';

const secretKey = 'ab'.repeat(32);

describe('AccountTurns', () => {
  it('names an account the same in every process with the key, and shows nothing of its id', () => {
    const turn = new AccountTurns(secretKey).turnOf({ accountId: 'account-1', tier: 'default' });
    expect(turn).toEqual(new AccountTurns([secretKey, 'cd'.repeat(32)]).turnOf({ accountId: 'account-1' }));
    expect(turn?.account).not.toContain('account-1');
    expect(turn?.account).not.toBe(new AccountTurns('cd'.repeat(32)).turnOf({ accountId: 'account-1' })?.account);
    expect(turn?.account).not.toBe(new AccountTurns(secretKey).turnOf({ accountId: 'account-2' })?.account);
  });

  it('gives partners two turns for one', () => {
    const turns = new AccountTurns(secretKey);
    expect(turns.turnOf({ accountId: 'a', tier: 'default' })?.weight).toBe(1);
    expect(turns.turnOf({ accountId: 'a', tier: 'partner' })?.weight).toBe(2);
  });

  it('gives none where jobs run in the order of their arrival', () => {
    expect(new AccountTurns(secretKey, false).turnOf({ accountId: 'a' })).toBeUndefined();
  });
});
