import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runSourceArguments, sourcePath } from '#test/source-program';
import { ArtifactIdFactory } from './artifact-id-factory.js';
import { describeArtifactStore, MovableClock } from './artifact-store.conformance.js';
import { FolderStore } from './folder.store.js';

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

describeArtifactStore('a folder', async () => {
  const root = await mkdtemp(join(tmpdir(), 'sluice-artifacts-'));
  const clock = new MovableClock();
  return {
    store: new FolderStore(root, new ArtifactIdFactory(undefined, clock)),
    clock,
    count: async () => (await filesBelow(root)).length,
    close: () => rm(root, { recursive: true, force: true }),
  };
});

describe('a folder of artifacts', () => {
  let root: string;
  let store: FolderStore;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'sluice-artifacts-'));
    store = new FolderStore(root);
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const put = (text: string) => store.put(Buffer.from(text), { kind: 'input', contentType: 'text/plain' });

  it('detects changed bytes', async () => {
    const { id } = await put('what was stored');
    const path = (await filesBelow(root)).find((file) => file.endsWith(id)) ?? '';
    await writeFile(path, 'what was written');
    await expect(store.read(id, 100)).rejects.toMatchObject({ code: 'UNKNOWN_ERROR' });
    const { stream } = await store.open(id);
    await expect(stream.toArray()).rejects.toMatchObject({ code: 'UNKNOWN_ERROR' });
  });

  it('deletes the partial write of a killed process after an hour', async () => {
    await put('whole');
    const old = join(root, 'partial', 'i0-old');
    const young = join(root, 'partial', 'i0-young');
    await writeFile(old, 'half');
    await writeFile(young, 'half');
    const long = new Date(Date.now() - 3_700_000);
    await utimes(old, long, long);
    await store.sweep();
    expect(await readdir(join(root, 'partial'))).toEqual(['i0-young']);
  });

  it('reports that its folder cannot be written to', async () => {
    const file = join(root, 'file');
    await writeFile(file, '');
    const blocked = new FolderStore(join(file, 'artifacts'));
    await expect(blocked.ping()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    await expect(blocked.put(Buffer.from('x'), { kind: 'input', contentType: 'a/b' })).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
    });
  });

  it('reports a full disk, and keeps nothing of a write that did not fit', async () => {
    const script = sourcePath('test/harness/artifact-writer.ts');
    // The kernel rejects every byte of a file beyond the limit, like a full disk or a quota.
    const write = async (blocks: string, ...more: string[]): Promise<string> => {
      const args = [
        '-c',
        `ulimit -f ${blocks}; exec "$@"`,
        'sh',
        process.execPath,
        ...runSourceArguments,
        script,
        root,
        ...more,
      ];
      return (await promisify(execFile)('bash', args)).stdout;
    };
    expect(await write('4096')).toBe('STORAGE_FULL');
    expect(await filesBelow(root)).toEqual([]);
    expect(await write('0', 'ping')).toBe('STORAGE_FULL');
    expect(await filesBelow(root)).toEqual([]);
    expect(await write('4096', 'ping')).toBe('stored');
    expect(await write('unlimited')).toBe('stored');
    expect(await filesBelow(root)).toHaveLength(2);
  });
});
