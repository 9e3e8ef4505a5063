import { describe, expect, it } from 'vitest';
import { checkOverride, type LimitOverride, maxConcurrent, maxRequests, maxTokens } from './limit-override.js';

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
    { requests: maxRequests, tokens: maxTokens },
    { requests: null, tokens: 5 },
    { target: 'XS' },
    { target: 'retrieve' },
    { target: 'other' },
    { target: 'model:tiny-llama' },
    { accountId: null, apiKeyId: 'k' },
    { accountId: null },
    { requests: null, concurrent: 5 },
    { accountId: null, apiKeyId: 'k', requests: null, concurrent: 0 },
  ])('takes %j', (changes) => {
    expect(refusal(changes)).toBeNull();
  });

  it.each([
    { requests: null },
    { requests: -1 },
    { requests: 1.5 },
    { requests: NaN },
    { requests: Infinity },
    { requests: maxRequests + 1 },
    { tokens: maxTokens + 1 },
    { target: 'XXL' },
    { target: 'model:' },
    { accountId: null, apiKeyId: 'k', target: 'XS' },
    { accountId: null, target: 'model:tiny-llama' },
    { concurrent: 1.5 },
    { concurrent: maxConcurrent + 1 },
    { target: 'XS', concurrent: 5 },
    { accountId: null, concurrent: 5 },
  ])('refuses %j', (changes) => {
    expect(refusal(changes)).toBe('INVALID_REQUEST');
  });
});
