import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { conversionKey, discardUnfinished } from './interrupted-conversion.js';

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'interrupted-'))));
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('an interrupted conversion', () => {
  it('keeps only the data files that can be continued', async () => {
    for (const name of ['model.onnx_data', 'model.onnx_data.resume', 'config.json', 'other.onnx_data']) {
      await writeFile(join(folder, name), '');
    }
    await mkdir(join(folder, 'unet'));
    await discardUnfinished(folder);
    expect((await readdir(folder)).toSorted()).toEqual(['model.onnx_data', 'model.onnx_data.resume']);
    await discardUnfinished(join(folder, 'absent'));
  });

  it('is continued by a conversion of the same files with the same options', async () => {
    const input = join(folder, 'model.gguf');
    await writeFile(input, 'GGUF');
    const key = await conversionKey('gguf', { weights: 'int4', blockSize: 32 }, folder);
    expect(await conversionKey('gguf', { blockSize: 32, weights: 'int4' }, folder)).toBe(key);
    const others = [
      await conversionKey('safetensors', { weights: 'int4', blockSize: 32 }, folder),
      await conversionKey('gguf', { weights: 'int8', blockSize: 32 }, folder),
    ];
    await utimes(input, 1, 1);
    others.push(await conversionKey('gguf', { weights: 'int4', blockSize: 32 }, folder));
    await writeFile(input, 'GGUF, longer');
    others.push(await conversionKey('gguf', { weights: 'int4', blockSize: 32 }, folder));
    expect(new Set([key, ...others]).size).toBe(5);
  });
});
