import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { concatenateFiles } from './concatenate.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'concatenate-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function parts(): Promise<string[]> {
  const contents = [Buffer.alloc(3_000_000, 1), Buffer.alloc(0), Buffer.alloc(5, 2)];
  return Promise.all(
    contents.map(async (content, index) => {
      const path = join(folder, `part${index}`);
      await writeFile(path, content);
      return path;
    }),
  );
}

describe('concatenateFiles', () => {
  it('joins parts in order and counts their bytes', async () => {
    const counted: number[] = [];
    const target = join(folder, 'whole');
    const bytes = await concatenateFiles({ parts: await parts(), target, onBytes: (done) => counted.push(done) });
    const whole = await readFile(target);
    expect(bytes).toBe(3_000_005);
    expect(whole.length).toBe(3_000_005);
    expect(whole[2_999_999]).toBe(1);
    expect([...whole.subarray(3_000_000)]).toEqual([2, 2, 2, 2, 2]);
    expect(counted.at(-1)).toBe(3_000_005);
    expect([...counted].sort((left, right) => left - right)).toEqual(counted);
  });

  it('leaves no target when a part is missing or the signal aborts', async () => {
    const list = await parts();
    const target = join(folder, 'whole');
    await expect(concatenateFiles({ parts: [...list, join(folder, 'none')], target })).rejects.toThrow('ENOENT');
    const controller = new AbortController();
    const onBytes = () => controller.abort(new Error('enough'));
    await expect(concatenateFiles({ parts: list, target, onBytes, signal: controller.signal })).rejects.toThrow();
    expect(await readdir(folder)).not.toContain('whole');
  });
});
