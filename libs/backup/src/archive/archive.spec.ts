import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ArchiveWriter } from './archive-writer.js';
import { readArchive } from './read-archive.js';

describe('an archive', () => {
  let folder: string;
  let file: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice archive '));
    file = join(folder, 'a.tar.gz');
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('returns the files that were written, whatever their sizes are', async () => {
    const sizes = [0, 1, 511, 512, 513, 1_000_000];
    const contentOf = (size: number) => Buffer.alloc(size, `${size} `);
    const writer = await ArchiveWriter.create(file);
    for (const size of sizes) await writer.add(`sizes/${size}`, size, [contentOf(size)]);
    expect(await readdir(folder)).toEqual(['a.tar.gz.partial']);
    await writer.finish('last', (parts) => Buffer.from(JSON.stringify(parts)));
    expect(await readdir(folder)).toEqual(['a.tar.gz']);

    const read: [string, Buffer][] = [];
    for await (const { path, content } of readArchive(file)) {
      const parts: Buffer[] = [];
      for await (const part of content) parts.push(part);
      read.push([path, Buffer.concat(parts)]);
    }
    const last = read.pop();
    expect(read.map(([path]) => path)).toEqual(sizes.map((size) => `sizes/${size}`));
    expect(read.every(([, content], index) => content.equals(contentOf(sizes[index] ?? 0)))).toBe(true);
    expect(JSON.parse(last?.[1].toString() ?? '')).toMatchObject({ sizes: { files: 6, bytes: 1_001_537 } });
  });

  it('skips files that nobody reads', async () => {
    const writer = await ArchiveWriter.create(file);
    for (const name of ['a', 'b']) await writer.add(`x/${name}`, 700, [Buffer.alloc(700)]);
    await writer.finish('last', () => Buffer.alloc(0));
    const paths: string[] = [];
    for await (const { path } of readArchive(file)) paths.push(path);
    expect(paths).toEqual(['x/a', 'x/b', 'last']);
  });

  it.each([1, 3])('refuses a file of %s bytes that should have two', async (bytes) => {
    const writer = await ArchiveWriter.create(file);
    await expect(writer.add('x/a', 2, [Buffer.alloc(bytes)])).rejects.toThrow('x/a does not have 2 bytes');
    await writer.discard();
    expect(await readdir(folder)).toEqual([]);
  });

  it('says why it cannot be written', async () => {
    const writer = await ArchiveWriter.create(join(folder, 'nowhere', 'a.tar.gz'));
    const endless = async (): Promise<void> => {
      for (;;) await writer.add('x/a', 1_000_000, [Buffer.alloc(1_000_000)]);
    };
    await expect(endless()).rejects.toMatchObject({ code: 'ENOENT' });
    await writer.discard();
  });
});
