import { expect, it } from 'vitest';
import { discard } from './discard.js';

it('what nobody needs any more is deleted as far as that goes, and no failure of it reaches anybody', async () => {
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
