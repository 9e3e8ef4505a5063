import { describe, expect, it } from 'vitest';
import { findIssues } from '#platform/validation';
import { CreateApiKeyRequest, UpdateApiKeyRequest } from './api-key.request.js';
import { shownLimit } from './key-limits.field.js';
import { settingsChanges, settingsOf } from './key-settings.normalizer.js';

const id = '5f6c1c0e-2f7b-4b5e-9f0a-3d1d0c7a2b11';

function problemsOf(changes: object): string[] {
  const body = { apiKeyType: 'INFERENCE', description: 'a key', ...changes };
  return findIssues(CreateApiKeyRequest, body).map(({ message }) => message);
}

describe('a request for a key', () => {
  it.each([
    [{ apiKeyType: 'ROOT' }, 'apiKeyType must be one of: INFERENCE, ADMIN'],
    [{ apiKeyType: undefined }, 'apiKeyType is required'],
    [{ description: undefined }, 'description is required'],
    [{ description: 'x'.repeat(65) }, 'description must be shorter than or equal to 64 characters'],
    [{ description: '🚣'.repeat(65) }, 'description must be shorter than or equal to 64 characters'],
    [{ consumptionLimit: 5 }, 'consumptionLimit must be an object'],
    [{ consumptionLimit: { usd: -1 } }, 'consumptionLimit.usd must not be less than 0'],
    [{ consumptionLimit: { diem: -1e-9 } }, 'consumptionLimit.diem must not be less than 0'],
    [{ consumptionLimit: { usd: 10_000_000_000 } }, 'consumptionLimit.usd must not be greater than 9999999999'],
    [{ consumptionLimit: { usd: 1e300 } }, 'consumptionLimit.usd must not be greater than 9999999999'],
    [{ consumptionLimit: { usd: '5' } }, 'consumptionLimit.usd must be a number'],
    [{ consumptionLimit: { vcu: true } }, 'consumptionLimit.vcu must be a number'],
    [{ consumptionLimit: { usd: 1e-10 } }, 'consumptionLimit.usd must have at most 9 decimals'],
    [{ consumptionLimit: { usd: 0.1234567891 } }, 'consumptionLimit.usd must have at most 9 decimals'],
    [{ limitPeriod: 'WEEK' }, 'limitPeriod must be one of: EPOCH, MONTH, LIFETIME'],
    [{ modelPrivacy: 'NONE' }, 'modelPrivacy must be one of: ALL, PRIVATE_TEXT, PRIVATE_ONLY'],
    [{ expiresAt: '2001-01-01' }, 'expiresAt must lie in the future'],
    [{ expiresAt: '2001-01-01T00:00:00Z' }, 'expiresAt must lie in the future'],
  ])('is refused with %j', (changes, message) => {
    expect(problemsOf(changes)).toEqual([message]);
  });

  it.each([
    'tomorrow',
    '2999-02-30',
    '2999-13-01',
    '2999-1-1',
    '2999-01-01T25:00:00Z',
    '2999-01-01T00:00:00',
    32503680,
  ])('is refused with the expiry %j', (expiresAt) => {
    expect(problemsOf({ expiresAt })).toEqual([expect.stringContaining('expiresAt must be "", a date such as')]);
  });

  it.each([
    [{ description: 'x'.repeat(64) }],
    [{ description: '🚣'.repeat(64) }],
    [{ description: '' }],
    [{ expiresAt: '' }],
    [{ expiresAt: '2999-12-31' }],
    [{ expiresAt: '2999-12-31T23:59:59Z' }],
    [{ expiresAt: '2999-12-31T23:59:59.123Z' }],
    [{ consumptionLimit: { usd: 0, diem: null } }],
    [{ consumptionLimit: { usd: 9_999_999_999 }, limitPeriod: 'LIFETIME' }],
    [{ consumptionLimit: { usd: 0.000000001 }, modelPrivacy: 'PRIVATE_ONLY' }],
  ])('is accepted with %j', (changes) => {
    expect(problemsOf(changes)).toEqual([]);
  });
});

describe('the settings of a key', () => {
  const create = (changes: Partial<CreateApiKeyRequest>) =>
    settingsOf({ apiKeyType: 'INFERENCE', description: 'a key', ...changes } as CreateApiKeyRequest);
  const update = (changes: object) => settingsChanges({ id, ...changes } as UpdateApiKeyRequest);

  it('default to no limit, no expiry and any model', () => {
    expect(create({})).toEqual({
      description: 'a key',
      expiresAt: null,
      limitUsdNano: null,
      limitDiemNano: null,
      limitPeriod: 'EPOCH',
      modelPrivacy: 'ALL',
    });
  });

  it('read a date as its first moment in UTC', () => {
    expect(create({ expiresAt: '2999-01-31' }).expiresAt).toEqual(new Date('2999-01-31T00:00:00Z'));
  });

  it('use the older name of DIEM when the new one is absent', () => {
    expect(update({ consumptionLimit: { vcu: 2 } })).toEqual({ limitDiemNano: 2_000_000_000n });
    expect(update({ consumptionLimit: { vcu: 2, diem: null } })).toEqual({ limitDiemNano: null });
  });

  it('leave omitted members unchanged, and tell null from absent', () => {
    expect(update({})).toEqual({});
    expect(update({ consumptionLimit: {}, description: null, limitPeriod: null })).toEqual({});
    expect(update({ consumptionLimit: { usd: null }, expiresAt: null })).toEqual({
      limitUsdNano: null,
      expiresAt: null,
    });
    expect(update({ expiresAt: '', description: 'new' })).toEqual({ expiresAt: null, description: 'new' });
  });

  it.each([0, 0.1, 0.29, 1e-9, 12.345678901, 1_234_567.891, 9_223_372_036, 9_999_999_999])(
    'show the limit %d as it was given',
    (usd) => {
      expect(shownLimit(update({ consumptionLimit: { usd } }).limitUsdNano ?? null)).toBe(usd);
    },
  );
});
