import { describe, expect, it } from 'vitest';
import { checkOverride, type LimitOverride, mostRequests, mostTokens } from './limit-override.js';

const good: LimitOverride = { accountId: 'a', apiKeyId: null, target: '*', requests: 1, tokens: null };
const refusal = (changes: Partial<LimitOverride>): string | null => {
  try {
    checkOverride({ ...good, ...changes });
    return null;
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('checkOverride', () => {
  it.each([
    {},
    { requests: 0 },
    { requests: mostRequests, tokens: mostTokens },
    { requests: null, tokens: 5 },
    { target: 'XS' },
    { target: 'retrieve' },
    { target: 'other' },
    { target: 'model:tiny-llama' },
    { accountId: null, apiKeyId: 'k' },
    { accountId: null },
  ])('takes %j', (changes) => {
    expect(refusal(changes)).toBeNull();
  });

  it.each([
    { requests: null },
    { requests: -1 },
    { requests: 1.5 },
    { requests: NaN },
    { requests: Infinity },
    { requests: mostRequests + 1 },
    { tokens: mostTokens + 1 },
    { target: 'XXL' },
    { target: 'model:' },
    { accountId: null, apiKeyId: 'k', target: 'XS' },
    { accountId: null, target: 'model:tiny-llama' },
  ])('refuses %j', (changes) => {
    expect(refusal(changes)).toBe('INVALID_REQUEST');
  });
});
