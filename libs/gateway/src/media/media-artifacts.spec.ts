import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { HttpExchange } from '../pipeline/http-exchange.js';
import { ClientDisconnectedError } from '../pipeline/job-stream.js';
import { MediaArtifacts } from './media-artifacts.js';

/** A storage in memory, and URLs that hold a text or fail. */
function setUp(failure?: Error) {
  const stored = new Map<string, Buffer>();
  const artifacts = {
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
  const open = async () => {
    if (failure) throw failure;
    return { body: Readable.from([Buffer.from('from afar')]) };
  };
  const media = new MediaArtifacts(artifacts as never, { open } as never, {} as never);
  const raw = Object.assign(new EventEmitter(), { destroyed: false, writableFinished: false });
  const http = new HttpExchange({ raw } as unknown as FastifyReply);
  return { reader: media.inputsOf(http, 1_000), http, stored, disconnect: () => void raw.emit('close') };
}

const from = { param: 'url', maxBytes: 100, timeoutMs: 1_000 };

describe('the inputs of a request', () => {
  it('are stored from URLs and data URLs, and deleted when the request ends', async () => {
    const { reader, http, stored } = setUp();
    const fetched = await reader.file('https://example.org/a', from);
    expect((await reader.head(fetched, 4)).toString()).toBe('from');
    const inline = await reader.file('data:text/plain;base64,aGVyZQ==', from);
    expect(stored.get(inline.id)?.toString()).toBe('here');
    expect(reader.artifactIds).toEqual([fetched.id, inline.id]);
    await http.end();
    expect(stored.size).toBe(0);
  });

  it('stay when a job owns them', async () => {
    const { reader, http, stored } = setUp();
    await reader.store(Buffer.from('a'), from);
    reader.handOver();
    await http.end();
    expect(stored.size).toBe(1);
  });

  it('come from no URL where a field takes none, and from base64 only where it takes that', async () => {
    const { reader } = setUp();
    const refused = { code: 'INVALID_REQUEST', param: 'url' };
    await expect(reader.image('https://example.org/a', { ...from, urls: false })).rejects.toMatchObject(refused);
    await expect(reader.image('%%%', { ...from, base64: true })).rejects.toMatchObject(refused);
  });

  it('fail as they failed, and with the disconnection where the client caused it', async () => {
    const failure = new PlatformError('PAYLOAD_TOO_LARGE', 'Too large.', 'url');
    const { reader, disconnect } = setUp(failure);
    await expect(reader.file('https://example.org/a', from)).rejects.toBe(failure);
    disconnect();
    await expect(reader.file('https://example.org/a', from)).rejects.toThrow(ClientDisconnectedError);
  });
});
