import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isMissingFile, readIfPresent } from './missing-file.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-missing-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('a file that may be missing', () => {
  it('is read where it exists, and null where it does not', async () => {
    await writeFile(join(folder, 'a'), 'text');
    expect((await readIfPresent(join(folder, 'a')))?.toString()).toBe('text');
    expect(await readIfPresent(join(folder, 'b'))).toBeNull();
  });

  it('fails for every other reason', async () => {
    await expect(readIfPresent(folder)).rejects.toMatchObject({ code: 'EISDIR' });
    expect([new Error('ENOENT'), 'ENOENT', null].map(isMissingFile)).toEqual([false, false, false]);
  });
});
