import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { create } from 'tar';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FileWriterFactory, openDiskWriter } from './file-writer.js';
import { extractFiles } from './npm-tarball.js';

const names = ['first.bin', 'second.bin', 'third.bin'];
const contentOf = (name: string) => Buffer.alloc(20_000, name);
const sha256Of = (name: string) => createHash('sha256').update(contentOf(name)).digest('hex');

let folder: string;
let into: string;
let tarball: Buffer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-tarball-'));
  into = join(folder, 'into');
  await mkdir(join(folder, 'package'));
  for (const name of names) await writeFile(join(folder, 'package', name), contentOf(name));
  const file = join(folder, 'package.tgz');
  await create(
    { cwd: folder, file, gzip: true },
    names.map((name) => `package/${name}`),
  );
  tarball = await readFile(file);
});

// A failed pull may still close the files after the broken one.
afterEach(() => rm(folder, { recursive: true, maxRetries: 10 }));

async function* inOneChunk(): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(tarball);
}

const extract = (openWriter: FileWriterFactory, wrong?: string) =>
  extractFiles({
    tarball: inOneChunk(),
    files: names.map((path) => ({ path, sha256: sha256Of(path === wrong ? 'something else' : path) })),
    into,
    openWriter,
    onBytes: () => undefined,
  });

/** Simulates a disk that is full as soon as that file is written. */
const fullAt =
  (name: string, open = openDiskWriter): FileWriterFactory =>
  async (path, flags) => {
    const writer = await open(path, flags);
    if (!path.includes(name)) return writer;
    return { ...writer, write: () => Promise.reject(new Error('ENOSPC: no space left on device')) };
  };

/** The last file begins when the one before it has ended, successfully or not. */
const inTurn: FileWriterFactory = async (path, flags) => {
  if (path.includes('third')) {
    while (existsSync(join(into, 'second.bin.part'))) await delay(5);
    await delay(5);
  }
  return openDiskWriter(path, flags);
};

describe('a package that is read completely before its files are written', () => {
  it('is unpacked', async () => {
    await extract(openDiskWriter);
    for (const name of names) expect((await readFile(join(into, name))).equals(contentOf(name))).toBe(true);
  });

  it.each(names)('fails when the disk is full at %s', async (name) => {
    await expect(extract(fullAt(name))).rejects.toThrow('ENOSPC');
    expect(existsSync(join(into, name))).toBe(false);
  });

  it.each(names)('fails when %s has a wrong hash', async (name) => {
    await expect(extract(openDiskWriter, name)).rejects.toMatchObject({ code: 'MODEL_PULL_FAILED' });
    expect(existsSync(join(into, name))).toBe(false);
  });

  it('closes the file of an entry that the archive cuts off', async () => {
    tarball = gunzipSync(tarball).subarray(0, 10_000);
    let open = 0;
    const counted: FileWriterFactory = async (...given) => {
      const writer = await openDiskWriter(...given);
      open += 1;
      return { write: (chunk) => writer.write(chunk), close: () => writer.close().finally(() => (open -= 1)) };
    };
    await expect(extract(counted)).rejects.toMatchObject({ code: 'MODEL_PULL_FAILED' });
    expect(open).toBe(0);
  });

  it('ends nothing else when a file fails while another is still to come', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown) => void unhandled.push(reason);
    process.on('unhandledRejection', onUnhandled);
    await expect(extract(fullAt('second', inTurn))).rejects.toThrow('ENOSPC');
    // A different folder, because the third file of the failed pull may still be written.
    into = join(folder, 'again');
    await expect(extract(inTurn, 'second.bin')).rejects.toMatchObject({ code: 'MODEL_PULL_FAILED' });
    process.off('unhandledRejection', onUnhandled);
    expect(unhandled).toEqual([]);
  });
});
