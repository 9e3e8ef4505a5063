import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ArtifactStore, createArtifactStore } from '#storage';
import { AudioRelay } from './audio-relay.js';

let home: string;
let artifacts: ArtifactStore;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-relay-'));
  artifacts = createArtifactStore({ home });
});
afterAll(() => rm(home, { recursive: true, force: true }));

async function stored(text: string): Promise<{ artifactId: string; bytes: number }> {
  const record = await artifacts.put(Buffer.from(text), { kind: 'result', contentType: 'audio/mpeg' });
  return { artifactId: record.id, bytes: record.bytes };
}

async function read(relay: AudioRelay): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of relay.read()) parts.push(part);
  return Buffer.concat(parts).toString();
}

function inline(text: string): { type: 'audio-part'; data: string } {
  return { type: 'audio-part', data: Buffer.from(text).toString('base64') };
}

describe('AudioRelay', () => {
  it('reads what came inline and what was stored, in order, and deletes the latter', async () => {
    const relay = new AudioRelay(artifacts);
    const part = await stored('two ');
    relay.take(inline('one '));
    relay.take({ type: 'audio-stored', ...part });
    relay.take(inline('three'));
    relay.take({ type: 'audio-ended', samples: 7 });
    relay.end();
    expect([relay.bytes, relay.samples]).toEqual([13, 7]);
    expect(await read(relay)).toBe('one two three');
    expect(await artifacts.find(part.artifactId)).toBeNull();
  });

  it('gives the first part before there is a second', async () => {
    const relay = new AudioRelay(artifacts);
    relay.take(inline('first'));
    await relay.started();
    const reader = relay.read();
    expect((await reader.next()).value?.toString()).toBe('first');
    const waiting = reader.next();
    relay.take(inline('second'));
    expect((await waiting).value?.toString()).toBe('second');
  });

  it('fails before the first part as the job does, and behind it where the reader is', async () => {
    const early = new AudioRelay(artifacts);
    early.fail(new Error('no'));
    await expect(early.started()).rejects.toThrow('no');
    const late = new AudioRelay(artifacts);
    late.take(inline('first'));
    late.fail(new Error('no'));
    await late.started();
    await expect(read(late)).rejects.toThrow('no');
  });

  it('forgets what nobody read, in the storage too', async () => {
    const relay = new AudioRelay(artifacts);
    const part = await stored('left');
    relay.take({ type: 'audio-stored', ...part });
    await relay.clear();
    relay.end();
    expect([await read(relay), relay.bytes]).toEqual(['', 0]);
    expect(await artifacts.find(part.artifactId)).toBeNull();
  });
});
