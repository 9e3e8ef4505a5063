import { expect, it } from 'vitest';
import type { RemoteFile, RemoteRequest } from '#egress';
import { HttpPageReader } from './http-page-reader.js';

it('reads, fetches and checks a page in the name of the account that asks', async () => {
  const owners: string[] = [];
  const types = ['text/html', 'text/plain'];
  const reader = new HttpPageReader({
    egress: {
      read: async ({ url, owner }: RemoteRequest): Promise<RemoteFile> => {
        owners.push(owner);
        return { url, contentType: types.shift() ?? '', charset: '', bytes: Buffer.from('text') };
      },
    },
    extractor: {
      extractPage: async ({ owner }) => {
        owners.push(owner);
        return { title: '', markdown: '', links: [], metadata: {}, isTruncated: false };
      },
      extract: async ({ owner }) => {
        owners.push(owner);
        return { format: 'text', text: '', isTruncated: false };
      },
    },
    robots: {
      allow: async (_url, { owner }) => {
        owners.push(owner);
        return true;
      },
    },
  });
  const { signal } = new AbortController();
  await reader.read('https://site.example/a', { owner: 'first', signal });
  await reader.read('https://site.example/b', { owner: 'second', signal });
  expect(owners).toEqual(['first', 'first', 'first', 'second', 'second', 'second']);
});
