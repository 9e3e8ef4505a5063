import { describe, expect, it } from 'vitest';
import { findIssues } from '#platform/validation';
import { ChatCompletionRequest } from '../../contract/chat.request.js';
import { ChatServerTool } from '../../contract/chat.tools.js';
import { effectiveParameters } from '../job/chat.parameters.js';
import { isWithin, sitesOfX, xRequestOf } from './x-search.js';

function asked(more: object) {
  const request = Object.assign(new ChatCompletionRequest(), { messages: [{ role: 'user', content: 'x' }], ...more });
  return xRequestOf(request, effectiveParameters({}, request.service_parameters));
}

const all = { allowed: [], excluded: [], from: null, to: null };
const tools = [{ type: 'x_search', allowed_x_handles: ['@harbour'], from_date: '2026-01-01' }];

describe('a search of X', () => {
  it('is asked for by the parameter, or by the tool, about which the model decides unless it is required', () => {
    expect(asked({})).toBeNull();
    expect(asked({ service_parameters: { enable_x_search: true } })).toEqual({ filter: all, decides: false });
    const filter = { ...all, allowed: ['harbour'], from: '2026-01-01' };
    expect(asked({ tools })).toEqual({ filter, decides: true });
    expect(asked({ tools, tool_choice: 'required' })).toEqual({ filter, decides: false });
    expect(asked({ tools, tool_choice: 'none' })).toBeNull();
  });

  it('is on the hosts of X, or on the pages of some accounts', () => {
    expect(sitesOfX(all)).toEqual({ sites: ['x.com', 'twitter.com'], excludedSites: [] });
    expect(sitesOfX({ ...all, allowed: ['a'], excluded: ['b'] })).toEqual({
      sites: ['x.com/a', 'twitter.com/a'],
      excludedSites: ['x.com/b', 'twitter.com/b'],
    });
  });

  it('finds posts of the wanted days, and those without a date that can be read', () => {
    const days = { ...all, from: '2026-01-02', to: '2026-01-03' };
    const dates = ['2026-01-01', '2026-01-02T23:00:00Z', 'Jan 3, 2026 UTC', '2026-01-04', 'yesterday', null];
    expect(dates.filter((date) => isWithin(date, days))).toEqual([dates[1], dates[2], 'yesterday', null]);
  });

  it.each([
    ['allowed_x_handles', ['a b']],
    ['excluded_x_handles', Array.from({ length: 11 }, () => 'a')],
    ['from_date', '2026-13-01'],
    ['to_date', 'yesterday'],
  ])('refuses a bad %s', (field, value) => {
    const issues = findIssues(ChatServerTool, { type: 'x_search', [field]: value });
    expect(issues.map(({ path }) => path)).toEqual([[field]]);
  });
});
