import { describe, expect, it } from 'vitest';
import { changeFilters, formatHash, keepShared, parseHash } from './place.js';

describe('an address', () => {
  it.each([
    ['', { view: '', entry: null, filters: {} }],
    ['#/', { view: '', entry: null, filters: {} }],
    ['#/usage', { view: 'usage', entry: null, filters: {} }],
    [
      '#/requests/abc-SLC?range=7d&model=a%2Fb',
      { view: 'requests', entry: 'abc-SLC', filters: { range: '7d', model: 'a/b' } },
    ],
    ['#/requests/a%2Fb?key=', { view: 'requests', entry: 'a/b', filters: {} }],
    ['#usage?from=2026-11-01', { view: 'usage', entry: null, filters: { from: '2026-11-01' } }],
    ['#/%E0%A4%A', { view: '%E0%A4%A', entry: null, filters: {} }],
  ])('%j names a place', (hash, place) => {
    expect(parseHash(hash)).toEqual(place);
  });

  it('is read back as it was written, whatever the filters hold', () => {
    const place = { view: 'requests', entry: 'id/with?marks#', filters: { model: 'a&b=c', key: '%', id: 'ü <b>' } };
    expect(parseHash(formatHash(place))).toEqual(place);
  });

  it('leaves empty filters out', () => {
    expect(formatHash({ view: 'usage', entry: null, filters: { model: '' } })).toBe('#/usage');
  });
});

describe('filters', () => {
  it('that are shared go with the reader to the next view', () => {
    expect(keepShared({ range: '30d', model: 'm', key: 'k', state: 'failed', groupBy: 'day', id: 'x' })).toEqual({
      range: '30d',
      model: 'm',
      key: 'k',
    });
  });

  it('are removed by an empty value or null', () => {
    expect(changeFilters({ range: '7d', model: 'm' }, { range: null, model: '', key: 'k' })).toEqual({ key: 'k' });
  });
});
