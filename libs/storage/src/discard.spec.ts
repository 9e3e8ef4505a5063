import { expect, it } from 'vitest';
import { discard } from './discard.js';

it('deletes unneeded artifacts where possible and never fails', async () => {
  const deleted: string[] = [];
  const store = {
    delete: async (id: string) => {
      if (id === 'stuck') throw new Error('the bucket is away');
      deleted.push(id);
    },
  };
  await discard(store, ['a', 'stuck', 'b']);
  expect(deleted).toEqual(['a', 'b']);
});
