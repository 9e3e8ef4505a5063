import { describe, expect, it } from 'vitest';
import { readCharactersQuery, readReviewsQuery } from './characters.query.js';

describe('the query of a list of characters', () => {
  it('defaults to the first 50, featured ones first', () => {
    const none = { search: null, tags: [], categories: [], modelIds: [], adult: null, webEnabled: null };
    const page = { sort: 'featured', descending: true, limit: 50, offset: 0 };
    expect(readCharactersQuery({})).toEqual({ filter: none, page });
    expect(readCharactersQuery({ isPro: 'true' }).filter).toBeNull();
    expect(readCharactersQuery({ isPro: 'false' }).filter).toEqual(none);
  });

  it('takes lists that are repeated, have commas or brackets', () => {
    const query = { tags: ['a', 'b,c'], 'tags[]': 'd', modelId: ' m , n ,', categories: 'x' };
    const { filter } = readCharactersQuery(query);
    expect(filter).toMatchObject({ tags: ['a', 'b', 'c', 'd'], modelIds: ['m', 'n'], categories: ['x'] });
  });

  it.each([
    [{ search: 'x'.repeat(201) }, 'search'],
    [{ search: 'a\0' }, 'search'],
    [{ search: ['a', 'b'] }, 'search'],
    [{ tags: Array.from({ length: 21 }, (_, index) => `t${index}`) }, 'tags'],
    [{ tags: 'x'.repeat(101) }, 'tags'],
    [{ categories: 'a\0' }, 'categories'],
    [{ modelId: 'x'.repeat(201) }, 'modelId'],
    [{ isAdult: 'yes' }, 'isAdult'],
    [{ isPro: '1' }, 'isPro'],
    [{ isWebEnabled: 'TRUE' }, 'isWebEnabled'],
    [{ sortBy: 'name' }, 'sortBy'],
    [{ sortOrder: 'down' }, 'sortOrder'],
    [{ limit: '0' }, 'limit'],
    [{ limit: '101' }, 'limit'],
    [{ offset: '-1' }, 'offset'],
    [{ offset: '1e3' }, 'offset'],
  ])('is refused as %j', (query, param) => {
    const refusal = expect.objectContaining({ code: 'INVALID_REQUEST', param }) as Error;
    expect(() => readCharactersQuery(query)).toThrow(refusal);
  });
});

describe('the query of reviews', () => {
  it('defaults to the first 20 and refuses other pages than whole ones', () => {
    expect(readReviewsQuery({})).toEqual({ page: 1, pageSize: 20 });
    expect(readReviewsQuery({ page: '3', pageSize: '100' })).toEqual({ page: 3, pageSize: 100 });
    for (const query of [{ page: '0' }, { pageSize: '101' }, { page: '1.5' }, { pageSize: ['1', '2'] }]) {
      expect(() => readReviewsQuery(query)).toThrow(/must be a whole number|may be given once/);
    }
  });
});
