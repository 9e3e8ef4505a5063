import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { ggufInteger, ggufIntegers, type GgufParts, ggufText, joinGguf, splitGguf } from '#test/tiny-models/gguf-parts';
import type { ByteSource } from '../byte-source.js';
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

  it('handles counts that no file could contain, and says where they are', async () => {
    const absurd = Buffer.from(whole);
    absurd.writeBigUInt64LE(2n ** 40n, 8);
    await expect(headerOf(absurd)).rejects.toThrow('cannot be converted');
    absurd.writeBigUInt64LE(2n ** 63n, 8);
    await expect(headerOf(absurd)).rejects.toThrow('it counts 9223372036854775808 of something (before byte 16)');
  });

  const changed = (change: (parts: GgufParts) => void): Promise<GgufHeader> => {
    const parts = splitGguf(whole);
    change(parts);
    return headerOf(joinGguf(parts));
  };
  const tensor = { name: 'more', dimensions: [32], type: 0, data: Buffer.alloc(128) };
  /** `count` lists of one list each, around an empty one. */
  const nested = (count: number) => {
    const inner = Buffer.from(Uint8Array.of(9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0));
    return Buffer.concat([Buffer.of(9, 0, 0, 0), ...Array.from({ length: count }, () => inner), Buffer.alloc(12)]);
  };

  it.each<[string, (parts: GgufParts) => void, string]>([
    [
      'a size of 2^53',
      ({ tensors }) => tensors.push({ ...tensor, dimensions: [2 ** 52, 4] }),
      'which no file can hold',
    ],
    [
      'sizes whose product is not a number',
      ({ tensors }) => tensors.push({ ...tensor, dimensions: [2 ** 53 - 1, 2 ** 53 - 1, 2 ** 53 - 1, 32] }),
      'which no file can hold',
    ],
    ['a size of 0', ({ tensors }) => tensors.push({ ...tensor, dimensions: [32, 0] }), 'more is 32 × 0, which no file'],
    [
      'nine dimensions',
      ({ tensors }) => tensors.push({ ...tensor, dimensions: Array(9).fill(1) as number[] }),
      'its tensor more has 9 dimensions (before byte',
    ],
    ['two tensors of a name', ({ tensors }) => tensors.push(tensor, tensor), 'it has two tensors more'],
    [
      'an alignment of no power',
      ({ metadata }) => metadata.set('general.alignment', ggufText('0')),
      '`general.alignment` is unusable: 0',
    ],
    ['deep lists', ({ metadata }) => metadata.set('deep', nested(100_000)), 'nests lists deeper than 4'],
    ['a long name', ({ metadata }) => metadata.set('x'.repeat(70_000), ggufInteger(1)), 'it has a name of 70000 bytes'],
    [
      'a list of too many items',
      ({ metadata }) =>
        metadata.set(
          'long',
          Buffer.concat([ggufIntegers([]).subarray(0, 8), Buffer.from(BigUint64Array.of(5_000_000n).buffer)]),
        ),
      'its metadata has a list of 5000000 items',
    ],
  ])('refuses %s', async (_, change, message) => {
    await expect(changed(change)).rejects.toThrow(message);
  });

  it('refuses tensors that overlap, and entries that are there twice', async () => {
    const overlapping = Buffer.from(whole);
    overlapping.writeBigUInt64LE(0n, overlapping.indexOf('half') + 4 + 4 + 8 + 4);
    await expect(headerOf(overlapping)).rejects.toThrow(/its tensors \w+ and \w+ overlap at byte \d+/);
    const twice = Buffer.from(whole);
    twice.write('test.uint16', twice.indexOf('test.uint32'));
    await expect(headerOf(twice)).rejects.toThrow(/its metadata names test\.uint16 twice \(before byte \d+\)/);
  });

  it('names a hostile name on one short line', async () => {
    const name = `\u001b[2J\n${'../'.repeat(100)}`;
    const error: unknown = await changed(({ tensors }) => tensors.push({ ...tensor, name, type: 77 })).catch(
      (reason: unknown) => reason,
    );
    const message = (error as PlatformError).message;
    expect(message).toContain('\ufffd[2J\ufffd../../');
    // eslint-disable-next-line no-control-regex -- control characters are what must not be printed
    expect(message).not.toMatch(/[\u0000-\u001f]/);
    expect(message.length).toBeLessThan(500);
  });

  it('reads at most 64 MB of a header that does not end', async () => {
    let mostRead = 0;
    const start = Buffer.concat([Buffer.from('GGUF'), Buffer.from(Uint32Array.of(3, 0, 0, 9, 0).buffer)]);
    const key = Buffer.concat([Buffer.from(BigUint64Array.of(1n).buffer), Buffer.from('k')]);
    // The text of the entry is said to take a gigabyte.
    const entry = Buffer.concat([
      Buffer.from(Uint32Array.of(8).buffer),
      Buffer.from(BigUint64Array.of(2n ** 30n).buffer),
    ]);
    const endless: ByteSource = {
      name: 'endless.gguf',
      bytes: 2 ** 31,
      read(_, length) {
        mostRead = Math.max(mostRead, length);
        const bytes = new Uint8Array(length);
        bytes.set(Buffer.concat([start, key, entry]));
        return Promise.resolve(bytes);
      },
    };
    await expect(readGgufHeader(endless)).rejects.toThrow('its header does not end within 67108864 bytes');
    expect(mostRead).toBe(2 ** 26);
  });
});
