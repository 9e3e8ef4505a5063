import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { HttpExchange } from '#platform/http';
import { ClientDisconnectedError } from '../pipeline/job-stream.js';
import { MediaArtifacts } from './media-artifacts.js';

/** A storage in memory, and URLs that return a text or fail. */
function setUp(failure?: Error) {
  const stored = new Map<string, Buffer>();
  const models: string[] = [];
  const artifacts = {
    ofModel: (modelId: string): object => (models.push(modelId), artifacts),
    copy: async (id: string) => await artifacts.put(stored.get(id) ?? Buffer.alloc(0)),
    put: async (content: Uint8Array | AsyncIterable<Uint8Array>) => {
      const parts: Uint8Array[] = [];
      if (content instanceof Uint8Array) parts.push(content);
      else for await (const part of content) parts.push(part);
      const id = `a${stored.size}`;
      stored.set(id, Buffer.concat(parts));
      return { id, bytes: stored.get(id)?.length ?? 0 };
    },
    open: async (id: string, { first, last }: { first: number; last: number }) => ({
      stream: Readable.from([stored.get(id)?.subarray(first, last + 1)]),
    }),
    delete: async (id: string) => void stored.delete(id),
  };
  const owners: string[] = [];
  const open = async ({ owner }: { owner: string }) => {
    owners.push(owner);
    if (failure) throw failure;
    return { body: Readable.from([Buffer.from('from afar')]) };
  };
  const media = new MediaArtifacts(artifacts as never, { open } as never, {} as never);
  const raw = Object.assign(new EventEmitter(), { destroyed: false, writableFinished: false });
  const http = new HttpExchange({ raw, request: { caller: { accountId: 'account' } } } as unknown as FastifyReply);
  return {
    reader: media.inputsOf(http, 'model', 1_000),
    http,
    stored,
    models,
    owners,
    disconnect: () => void raw.emit('close'),
  };
}

const from = { param: 'url', maxBytes: 100, timeoutMs: 1_000 };

describe('the inputs of a request', () => {
  it('are stored from URLs and data URLs, and deleted when the request ends', async () => {
    const { reader, http, stored, owners } = setUp();
    const fetched = await reader.file('https://example.org/a', from);
    expect(owners).toEqual(['account']);
    expect(stored.get(fetched.id)?.toString()).toMatch(/^from/);
    const inline = await reader.file('data:text/plain;base64,aGVyZQ==', from);
    expect(stored.get(inline.id)?.toString()).toBe('here');
    expect(reader.artifactIds).toEqual([fetched.id, inline.id]);
    await http.end();
    expect(stored.size).toBe(0);
  });

  it('belong to the model of their job, also when they are those of another', async () => {
    const { reader, http, stored, models } = setUp();
    stored.set('a-of-another', Buffer.from('shared'));
    const { id } = await reader.adopt({ id: 'a-of-another' });
    expect([models, stored.get(id)?.toString()]).toEqual([['model'], 'shared']);
    await http.end();
    expect([...stored.keys()]).toEqual(['a-of-another']);
  });

  it('stay when a job takes them over', async () => {
    const { reader, http, stored } = setUp();
    await reader.store(Buffer.from('a'), from);
    reader.handOver();
    await http.end();
    expect(stored.size).toBe(1);
  });

  it('are rejected as URLs or base64 where the field does not allow them', async () => {
    const { reader } = setUp();
    const refused = { code: 'INVALID_REQUEST', param: 'url' };
    await expect(reader.image('https://example.org/a', { ...from, urls: false })).rejects.toMatchObject(refused);
    await expect(reader.image('%%%', { ...from, base64: true })).rejects.toMatchObject(refused);
  });

  it('fail with their own error, or as a disconnection if the client caused it', async () => {
    const failure = new PlatformError('PAYLOAD_TOO_LARGE', 'Too large.', 'url');
    const { reader, disconnect } = setUp(failure);
    await expect(reader.file('https://example.org/a', from)).rejects.toBe(failure);
    disconnect();
    await expect(reader.file('https://example.org/a', from)).rejects.toThrow(ClientDisconnectedError);
  });
});
