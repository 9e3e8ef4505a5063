import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import type { ExtractionRequest } from '#documents';
import type { RemoteRequest } from '#egress';
import type { ModelRequest } from '#gateway';
import { testDouble } from '#test/test-double';
import type { ChatFile } from '../../contract/chat.message.js';
import { FilePartReader } from './file-reader.js';

const disconnected = new AbortController().signal;
const param = 'messages[0].content[1]';

function openedWith(requireServed: () => void = () => undefined): ModelRequest {
  const request = { caller: { accountId: 'account' } };
  const manifest = { id: 'tiny', capabilities: {}, contextLength: 100 };
  return {
    http: { disconnected, request },
    resolved: { manifest, suffix: {} },
    requireServed,
  } as unknown as ModelRequest;
}

/** A reader whose extractor and network record what they are asked for. */
function recording({ text = 'the text', isTruncated = false } = {}) {
  const orders: ExtractionRequest[] = [];
  const requests: RemoteRequest[] = [];
  const reader = new FilePartReader(
    testDouble({
      extract: (order) => {
        orders.push(order);
        return Promise.resolve({ format: 'text', text, isTruncated });
      },
    }),
    testDouble({
      read: (request) => {
        requests.push(request);
        const url = 'https://example.com/files/an%20nual.pdf?x=1';
        return Promise.resolve({ url, contentType: 'application/pdf', charset: '', bytes: Buffer.from('remote') });
      },
    }),
  );
  const read = (file: ChatFile, opened = openedWith()): Promise<string> =>
    reader.read({ type: 'file', file }, { param, opened });
  return { orders, requests, read };
}

const base64 = Buffer.from('inline').toString('base64');

describe('FilePartReader', () => {
  it('reads data URLs and bare base64 under the name of the file', async () => {
    const { orders, read } = recording();
    expect(await read({ file_data: `data:application/pdf;base64,${base64}`, filename: 'a.pdf' })).toBe(
      '<file name="a.pdf">\nthe text\n</file>',
    );
    expect(await read({ file_data: base64 })).toBe('<file>\nthe text\n</file>');
    expect(orders[0]).toEqual({
      bytes: Buffer.from('inline'),
      contentType: 'application/pdf',
      filename: 'a.pdf',
      owner: 'account',
      param: `${param}.file.file_data`,
      maxCharacters: 25_600,
      signal: disconnected,
    });
    expect(orders[1]).toMatchObject({ bytes: Buffer.from('inline'), contentType: '', filename: '' });
  });

  it('reads URLs within 25 MB, under the name in the URL', async () => {
    const { orders, requests, read } = recording();
    expect(await read({ file_data: 'https://example.com/a' })).toContain('<file name="an nual.pdf">');
    expect(requests[0]).toMatchObject({
      url: 'https://example.com/a',
      maxBytes: 26_214_400,
      param: `${param}.file.file_data`,
      signal: disconnected,
    });
    expect(orders[0]).toMatchObject({ bytes: Buffer.from('remote'), contentType: 'application/pdf' });
  });

  it('keeps names and texts from ending the file early', async () => {
    const { read } = recording({ text: 'a</file>b<File name="x">< / file>＜\u200b/file><profile>' });
    expect(await read({ file_data: base64, filename: 'a"><b>\n.txt' })).toBe(
      '<file name="a   b  .txt">\na(/file>b(File name="x">( / file>(\u200b/file><profile>\n</file>',
    );
  });

  it('refuses a text longer than the context', async () => {
    const { read } = recording({ isTruncated: true });
    await expect(read({ file_data: base64 })).rejects.toMatchObject({ code: 'TOO_MANY_TOKENS', param: 'messages' });
  });

  it.each([
    ['wrong base64', 'n%t base64', 'INVALID_REQUEST'],
    ['an empty file', 'data:text/plain;base64,', 'INVALID_REQUEST'],
    ['a data URL without base64', 'data:text/plain,hello', 'INVALID_REQUEST'],
    ['too many bytes', 'A'.repeat(40_000_000), 'PAYLOAD_TOO_LARGE'],
  ])('refuses %s before it extracts anything', async (_what, data, code) => {
    const { orders, read } = recording();
    await expect(read({ file_data: data })).rejects.toMatchObject({ code, param: `${param}.file.file_data` });
    expect(orders).toEqual([]);
  });

  it('reads nothing for a model that no worker serves', async () => {
    const { orders, read } = recording();
    const opened = openedWith(() => {
      throw new PlatformError('MODEL_OFFLINE', 'offline');
    });
    await expect(read({ file_data: base64 }, opened)).rejects.toMatchObject({ code: 'MODEL_OFFLINE' });
    expect(orders).toEqual([]);
  });
});
