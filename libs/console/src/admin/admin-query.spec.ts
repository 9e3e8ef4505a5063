import { describe, expect, it } from 'vitest';
import type { RequestCaller } from '#platform/http';
import { pageOf, readCursor, readLimit, readScope, writeCursor } from './admin-query.js';

const key = '00000000-0000-4000-8000-000000000001';
const otherKey = '00000000-0000-4000-8000-000000000002';
const admin = { accountId: 'a', apiKeyId: key, kind: 'ADMIN' } as RequestCaller;
const inference = { ...admin, kind: 'INFERENCE' } as RequestCaller;
const operator = { ...admin, isOperator: true } as RequestCaller;

describe('the scope of a query', () => {
  it('is the account of an ADMIN key, or one of its keys', () => {
    expect(readScope({}, admin)).toEqual({ accountId: 'a', apiKeyId: null });
    expect(readScope({ key: otherKey }, admin)).toEqual({ accountId: 'a', apiKeyId: otherKey });
    expect(readScope({ scope: 'account' }, operator)).toEqual({ accountId: 'a', apiKeyId: null });
  });

  it('is an inference key itself, and no other', () => {
    expect(readScope({}, inference)).toEqual({ accountId: 'a', apiKeyId: key });
    expect(readScope({ key }, inference)).toEqual({ accountId: 'a', apiKeyId: key });
    expect(() => readScope({ key: otherKey }, inference)).toThrow('its own requests only');
  });

  it('is the installation for operators alone', () => {
    expect(readScope({ scope: 'installation' }, operator)).toEqual({ accountId: null, apiKeyId: null });
    for (const caller of [admin, inference]) {
      expect(() => readScope({ scope: 'installation' }, caller)).toThrow('operator account');
    }
  });

  it.each([
    [{ scope: 'all' }, 'scope'],
    [{ key: 'nothing' }, 'key'],
    [{ key: [key, key] }, 'key'],
  ])('is refused for %j, which names its field', (query, param) => {
    expect(() => readScope(query, admin)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST', param }));
  });
});

describe('a page', () => {
  it('has a limit from 1 to 200', () => {
    expect([readLimit({}), readLimit({ limit: '200' })]).toEqual([50, 200]);
    for (const limit of ['0', '201', '-1', '1e2', 'x']) expect(() => readLimit({ limit })).toThrow('limit must be');
  });

  it('goes on where the one before ended, and ends where no row is left', () => {
    const cursorOf = (row: number) => writeCursor([row]);
    const first = pageOf([1, 2, 3], 2, cursorOf);
    expect(first.rows).toEqual([1, 2]);
    expect(readCursor({ cursor: first.nextCursor ?? '' }, ([row]) => row)).toBe(2);
    expect(pageOf([3], 2, cursorOf)).toEqual({ rows: [3], nextCursor: null });
    expect(pageOf([], 2, cursorOf)).toEqual({ rows: [], nextCursor: null });
  });

  it.each(['!', 'e30', Buffer.from('null').toString('base64url'), 'x'.repeat(401)])(
    'refuses the cursor %j',
    (cursor) => {
      expect(() => readCursor({ cursor }, () => null)).toThrow(expect.objectContaining({ param: 'cursor' }));
    },
  );
});
