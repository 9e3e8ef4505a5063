import { expect, it } from 'vitest';
import { isOnSites, withSiteOperators } from './sites.js';

it('adds the operators of sites to a query', () => {
  expect(withSiteOperators({ query: 'tides' })).toBe('tides');
  expect(withSiteOperators({ query: 'tides', sites: ['a.example'] })).toBe('tides site:a.example');
  const some = { query: 'tides', sites: ['a.example', 'b.example/me'], excludedSites: ['b.example/you'] };
  expect(withSiteOperators(some)).toBe('tides (site:a.example OR site:b.example/me) -site:b.example/you');
});

it.each([
  ['https://x.com/harbour/status/1', true],
  ['https://mobile.x.com/Harbour/status/1', true],
  ['https://x.com/harbour2', false],
  ['https://x.com/', false],
  ['https://notx.com/harbour', false],
  ['https://x.com.example/harbour', false],
  ['https://example.com/?x.com/harbour', false],
])('knows whether %s is on a site', (url, isOn) => {
  expect(isOnSites(url, { sites: ['x.com/harbour'] })).toBe(isOn);
  expect(isOnSites(url, { excludedSites: ['x.com/harbour'] })).toBe(!isOn);
});
