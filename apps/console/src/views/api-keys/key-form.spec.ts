import { describe, expect, it } from 'vitest';
import { emptyKeyForm, keyRequestOf } from './key-form.js';

describe('the form for a new key', () => {
  it('sends no limit and no expiry unless they are typed', () => {
    expect(keyRequestOf({ ...emptyKeyForm, description: ' Batch jobs ' })).toEqual({
      description: 'Batch jobs',
      apiKeyType: 'INFERENCE',
      limitPeriod: 'EPOCH',
    });
  });

  it('sends a limit of 0, which forbids spending', () => {
    expect(keyRequestOf({ ...emptyKeyForm, limitUsd: '0' })).toMatchObject({ consumptionLimit: { usd: 0 } });
  });

  it('sends the expiry as an instant', () => {
    const expires = '2027-01-31T12:00';
    const { expiresAt } = keyRequestOf({ ...emptyKeyForm, expires });
    expect(expiresAt).toMatch(/Z$/);
    expect(Date.parse(String(expiresAt))).toBe(new Date(2027, 0, 31, 12).getTime());
  });
});
