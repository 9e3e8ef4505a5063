import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TemporaryFolder } from './temporary-folder.js';

describe('TemporaryFolder', () => {
  let path: string;
  const deadId = spawnSync(process.execPath, ['--eval', '']).pid;

  beforeEach(async () => {
    path = await mkdtemp(join(tmpdir(), 'sluice-temporary-'));
    for (const name of [`${deadId}-dead`, `${process.pid}-before`, '1-alive', 'foreign']) await mkdir(join(path, name));
  });

  afterEach(() => rm(path, { recursive: true, force: true }));

  it('is cleared of what dead processes and an earlier process with the same pid left', async () => {
    await new TemporaryFolder(path).sweep();
    expect((await readdir(path)).sort()).toEqual(['1-alive', 'foreign']);
  });

  it('is cleared at its first use without a sweep, and keeps what is in use from then on', async () => {
    const folder = new TemporaryFolder(path);
    const made = await Promise.all([folder.make(), new TemporaryFolder(path).make()]);
    await mkdir(join(path, `${deadId}-later`));
    await new TemporaryFolder(path).sweep();
    expect(made.map(existsSync)).toEqual([true, true]);
    expect(await readdir(path)).toHaveLength(4);
    expect(await readdir(path)).toEqual(expect.arrayContaining(['1-alive', 'foreign']));
  });

  it('deletes a folder when its use ends, however it ends', async () => {
    const folder = new TemporaryFolder(join(path, 'new'));
    const used = await folder.with(async (location) => {
      await writeFile(join(location, 'content'), 'x');
      return location;
    });
    expect([used.startsWith(join(path, 'new', `${process.pid}-`)), existsSync(used)]).toEqual([true, false]);
    const failing = folder.with(() => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(await readdir(join(path, 'new'))).toEqual([]);
  });
});
