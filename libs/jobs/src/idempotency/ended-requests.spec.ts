import { expect, it } from 'vitest';
import { EndedRequests } from './ended-requests.js';

it('remembers the latest requests and forgets the oldest', () => {
  const ended = new EndedRequests(3);
  for (const id of ['a', 'b', 'c', 'd', 'd', 'e']) ended.add(id);
  expect(['a', 'b', 'c', 'd', 'e', 'f'].filter((id) => ended.has(id))).toEqual(['c', 'd', 'e']);
});
