import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { InputFile } from '../input-file.js';
import { dequantize } from './gguf-dequantize.js';
import { readGgufHeader } from './gguf-reader.js';
import type { GgufHeader } from './gguf-types.js';

const fixture = new URL('./__fixtures__/metadata.gguf', import.meta.url);

let folder = '';
let whole: Buffer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gguf-'));
  whole = await readFile(fixture);
  await copyFile(fixture, join(folder, 'whole.gguf'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function withFile<Result>(name: string, use: (file: InputFile) => Promise<Result>): Promise<Result> {
  const file = await InputFile.open(folder, name);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

async function headerOf(bytes: Uint8Array): Promise<GgufHeader> {
  await writeFile(join(folder, 'changed.gguf'), bytes);
  return withFile('changed.gguf', readGgufHeader);
}

describe('readGgufHeader', () => {
  it('reads a value of every metadata type', async () => {
    const { metadata } = await withFile('whole.gguf', readGgufHeader);
    expect(Object.fromEntries(metadata)).toMatchObject({
      'general.architecture': 'llama',
      'test.uint8': 200,
      'test.int8': -5,
      'test.uint16': 60000,
      'test.int16': -30000,
      'test.uint32': 4000000000,
      'test.int32': -2000000000,
      'test.uint64': 2n ** 60n,
      'test.int64': -(2n ** 60n),
      'test.float32': 0.5,
      'test.float64': 0.1,
      'test.bool': true,
      'test.string': 'naïve 漢字 🙂',
      'test.strings': ['one', 'two', ''],
      'test.numbers': [1, 2, 3],
    });
  });

  it('locates tensors so that their values can be read', async () => {
    await withFile('whole.gguf', async (file) => {
      const { tensors } = await readGgufHeader(file);
      const plain = tensors.get('plain');
      const half = tensors.get('half');
      if (!plain || !half) throw new Error('The fixture lost a tensor.');
      expect(plain.dimensions).toEqual([4, 2]);
      expect([...dequantize(plain.type, await file.read(plain.offset, plain.bytes))]).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      expect([...dequantize(half.type, await file.read(half.offset, half.bytes))]).toEqual([0, 1, 2, 3, 4, 5]);
      expect(tensors.get('blocks')).toMatchObject({ dimensions: [64, 2], bytes: 2 * 2 * 34, type: { name: 'Q8_0' } });
    });
  });

  it('names the file and the error wherever it is truncated', async () => {
    const lengths = fc.integer({ min: 0, max: whole.length - 33 });
    await fc.assert(
      fc.asyncProperty(lengths, async (length) => {
        const error: unknown = await headerOf(whole.subarray(0, length)).catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(PlatformError);
        expect((error as PlatformError).message).toMatch(/^The file changed\.gguf cannot be converted: .*(cut short)/);
      }),
      { numRuns: 60 },
    );
  });

  it('rejects other files, an old version and an unknown tensor type', async () => {
    await expect(headerOf(Buffer.from('PK\u0003\u0004 something else'))).rejects.toThrow('it is no GGUF file');
    const old = Buffer.from(whole);
    old.writeUInt32LE(1, 4);
    await expect(headerOf(old)).rejects.toThrow('it is GGUF version 1; 2 and 3 are read');
    const unknown = Buffer.from(whole);
    unknown.writeUInt32LE(77, unknown.indexOf('plain') + 5 + 4 + 16);
    await expect(headerOf(unknown)).rejects.toThrow('its tensor plain has the unknown type 77');
  });

  it('handles counts that no file could contain', async () => {
    const absurd = Buffer.from(whole);
    absurd.writeBigUInt64LE(2n ** 40n, 8);
    await expect(headerOf(absurd)).rejects.toThrow('cannot be converted');
    absurd.writeBigUInt64LE(2n ** 63n, 8);
    await expect(headerOf(absurd)).rejects.toThrow('cannot be converted');
  });
});
