import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from 'tar';
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

afterEach(() => rm(folder, { recursive: true }));

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

/** A disk that is full as soon as that file is written. */
const fullAt =
  (name: string): FileWriterFactory =>
  async (path, flags) => {
    const writer = await openDiskWriter(path, flags);
    if (!path.includes(name)) return writer;
    return { ...writer, write: () => Promise.reject(new Error('ENOSPC: no space left on device')) };
  };

describe('a package that is read whole before its files are written', () => {
  it('is unpacked', async () => {
    await extract(openDiskWriter);
    for (const name of names) expect(await readFile(join(into, name))).toEqual(contentOf(name));
  });

  it.each(names)('fails, and ends nothing else, when the disk is full at %s', async (name) => {
    await expect(extract(fullAt(name))).rejects.toThrow('ENOSPC');
    expect(existsSync(join(into, name))).toBe(false);
  });

  it.each(names)('fails when %s has a wrong hash', async (name) => {
    await expect(extract(openDiskWriter, name)).rejects.toMatchObject({ code: 'MODEL_PULL_FAILED' });
    expect(await readdir(into)).not.toContain(name);
  });
});
