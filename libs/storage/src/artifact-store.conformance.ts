import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Clock } from '#common';
import type { ArtifactStore } from './artifact-store.js';
import { parseArtifactId } from './artifact.js';

/** A clock controlled by tests. */
export class MovableClock implements Clock {
  private movedMs = 0;

  move(ms: number): void {
    this.movedMs += ms;
  }

  nowMs(): number {
    return Date.now() + this.movedMs;
  }

  monotonicMs(): number {
    return performance.now() + this.movedMs;
  }
}

export interface StoreUnderTest {
  store: ArtifactStore;
  clock: MovableClock;
  /** Returns the number of files or objects, including records and leftovers. */
  count(): Promise<number>;
  close(): Promise<void>;
}

const missing = { code: 'MEDIA_NOT_FOUND' };

/** Conformance tests for every artifact store (`artifact-store.ts`). */
export function describeArtifactStore(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`artifacts in ${name}`, () => {
    let world: StoreUnderTest;
    let store: ArtifactStore;

    beforeAll(async () => {
      world = await open();
      store = world.store;
    });
    afterAll(() => world.close());

    const put = (bytes: Uint8Array | AsyncIterable<Uint8Array>, lifetimeMs?: number) =>
      store.put(bytes, { kind: 'result', contentType: 'video/mp4', lifetimeMs });

    it('are returned unchanged, with their record', async () => {
      const bytes = randomBytes(100_000);
      const record = await put(bytes);
      expect(record).toMatchObject({
        kind: 'result',
        contentType: 'video/mp4',
        bytes: bytes.length,
        sha256: createHash('sha256').update(bytes).digest('hex'),
      });
      expect(record.expiresAtMs - record.createdAtMs).toBeGreaterThan(86_390_000);
      expect(parseArtifactId(record.id)).toEqual({ kind: 'result', expiresAtMs: record.expiresAtMs, scope: null });
      expect(await store.find(record.id)).toEqual(record);
      expect((await store.read(record.id, 100_000)).bytes.equals(bytes)).toBe(true);
    });

    it('are streamed in and out without holding them in memory', async () => {
      const piece = randomBytes(1_000_000);
      const hash = createHash('sha256');
      async function* pieces() {
        for (let index = 0; index < 20; index += 1) {
          hash.update(piece);
          yield piece;
        }
      }
      const record = await put(pieces());
      expect(record).toMatchObject({ bytes: 20_000_000, sha256: hash.digest('hex') });
      const back = createHash('sha256');
      for await (const part of (await store.open(record.id)).stream) back.update(part as Buffer);
      expect(back.digest('hex')).toBe(record.sha256);
      await store.delete(record.id);
    });

    it('are readable by range', async () => {
      const { id } = await put(Buffer.from('0123456789'));
      const { stream, record } = await store.open(id, { first: 2, last: 5 });
      const parts: Buffer[] = [];
      for await (const part of stream) parts.push(part as Buffer);
      expect(Buffer.concat(parts).toString()).toBe('2345');
      expect(record.bytes).toBe(10);
    });

    it('may be empty, and contain any bytes', async () => {
      const { id } = await put(new Uint8Array(0));
      expect((await store.read(id, 0)).bytes).toHaveLength(0);
    });

    it('are limited on write and read, and leave nothing when they are too large', async () => {
      const before = await world.count();
      const options = { kind: 'input', contentType: 'image/png', maxBytes: 9_000_000 } as const;
      async function* endless() {
        for (;;) yield Buffer.alloc(1_000_000);
      }
      await expect(store.put(endless(), options)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
      await expect(store.put(Buffer.alloc(9_000_001), options)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
      expect(await world.count()).toBe(before);
      const { id } = await put(Buffer.alloc(11));
      await expect(store.read(id, 10)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    });

    it('leave nothing when their source fails or the write is aborted', async () => {
      const before = await world.count();
      async function* broken() {
        yield Buffer.alloc(9_000_000);
        throw new Error('the camera fell');
      }
      await expect(put(broken())).rejects.toThrow();
      const stop = new AbortController();
      async function* stopped() {
        yield Buffer.alloc(9_000_000);
        stop.abort();
        yield Buffer.alloc(1);
      }
      const options = { kind: 'input', contentType: 'image/png', signal: stop.signal } as const;
      await expect(store.put(stopped(), options)).rejects.toThrow();
      expect(await world.count()).toBe(before);
    });

    it('can be reserved before they exist, and be replaced', async () => {
      const id = store.reserve('result');
      expect(await store.find(id)).toBeNull();
      await expect(store.open(id)).rejects.toMatchObject(missing);
      await store.putReserved(id, Buffer.from('first'), { contentType: 'audio/mpeg' });
      const again = await store.putReserved(id, Buffer.from('second'), { contentType: 'audio/wav' });
      expect(again).toMatchObject({ id, bytes: 6, contentType: 'audio/wav' });
      expect((await store.read(id, 10)).bytes.toString()).toBe('second');
      await expect(
        store.putReserved('../../etc/passwd', Buffer.alloc(1), { contentType: 'a/b' }),
      ).rejects.toMatchObject(missing);
    });

    it('are available as files', async () => {
      const { id } = await put(Buffer.from('video'));
      const path = await store.withFile(id, async (path, record) => {
        expect([(await readFile(path)).toString(), record.id]).toEqual(['video', id]);
        return path;
      });
      await store.delete(id);
      expect(existsSync(path)).toBe(false);
      await expect(store.withFile(id, () => Promise.resolve())).rejects.toMatchObject(missing);
    });

    it('are copied with an independent lifetime', async () => {
      const first = await put(Buffer.from('voice'), 60_000);
      const copy = await store.copy(first.id, { kind: 'input', lifetimeMs: 86_400_000 });
      expect(copy).toMatchObject({ kind: 'input', contentType: 'video/mp4', bytes: 5, sha256: first.sha256 });
      await store.delete(first.id);
      expect((await store.read(copy.id, 10)).bytes.toString()).toBe('voice');
      await expect(store.copy(first.id, { kind: 'input' })).rejects.toMatchObject(missing);
    });

    it('are removed on delete, however often', async () => {
      const { id } = await put(Buffer.from('x'));
      await store.delete(id);
      await store.delete(id);
      await store.delete('no such id');
      expect(await store.find(id)).toBeNull();
      for (const wrong of [id, `${id}0`, '..', 'r0-', '', `${id}.json`]) {
        expect(await store.find(wrong)).toBeNull();
        await expect(store.open(wrong)).rejects.toMatchObject(missing);
      }
    });

    it('of a model are read by their id, copied to others, and swept', async () => {
      const [one, two] = [store.ofModel('one'), store.ofModel('two')];
      const before = await world.count();
      const record = await one.put(Buffer.from('image'), {
        kind: 'input',
        contentType: 'image/png',
        lifetimeMs: 5_000,
      });
      const scope = parseArtifactId(record.id)?.scope;
      expect(scope).toMatch(/^[0-9a-f]{12}$/);
      expect(parseArtifactId(one.reserve('result'))?.scope).toBe(scope);
      expect((await store.read(record.id, 10)).bytes.toString()).toBe('image');
      const copy = await two.copy(record.id, { kind: 'input', lifetimeMs: 5_000 });
      expect(parseArtifactId(copy.id)?.scope).not.toBe(scope);
      expect((await one.read(copy.id, 10)).bytes.toString()).toBe('image');
      await one.delete(copy.id);
      expect(await store.find(copy.id)).toBeNull();
      world.clock.move(6_000);
      expect(await store.sweep()).toBe(1);
      expect(await world.count()).toBe(before);
    });

    it('count as missing once they have expired, and are then deleted by a sweep', async () => {
      const short = await put(Buffer.from('short'), 5_000);
      const long = await put(Buffer.from('long'), 7_200_000);
      const before = await world.count();
      world.clock.move(6_000);
      expect(await store.find(short.id)).toBeNull();
      await expect(store.read(short.id, 10)).rejects.toMatchObject(missing);
      expect(await store.sweep()).toBe(1);
      expect(await world.count()).toBe(before - 2);
      expect((await store.read(long.id, 10)).bytes.toString()).toBe('long');
      world.clock.move(7_200_000);
      expect(await store.sweep()).toBe(1);
      world.clock.move(86_400_000 * 2);
      await store.sweep();
      expect(await world.count()).toBe(0);
      world.clock.move(-86_400_000 * 2 - 7_206_000);
    });

    it('are stored by a store that is available', async () => {
      await expect(store.ping()).resolves.toBeUndefined();
    });
  });
}
