import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { safetensorsFile } from '#test/tiny-models/source-formats';
import { InputFile } from '../input-file.js';
import { readSafetensorsHeader } from './safetensors-header.js';
import { readFloats } from './safetensors-values.js';

let folder: string;

beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'safetensors-'))));
afterAll(() => rm(folder, { recursive: true }));

async function withFile<Result>(content: Uint8Array, use: (file: InputFile) => Promise<Result>): Promise<Result> {
  await writeFile(join(folder, 'model.safetensors'), content);
  const file = await InputFile.open(folder, 'model.safetensors');
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

function fileOf(header: unknown, data = Buffer.alloc(0)): Buffer {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, data]);
}

const entry = (change: object = {}) => ({ dtype: 'F32', shape: [2, 2], data_offsets: [0, 16], ...change });

describe('readSafetensorsHeader', () => {
  it('reads float32, float16 and bfloat16', async () => {
    const content = safetensorsFile({
      a: { dtype: 'F32', shape: [2], bytes: Buffer.from(Float32Array.of(1.5, -2).buffer) },
      b: { dtype: 'F16', shape: [2], bytes: Buffer.from(Uint16Array.of(0x3c00, 0xc000).buffer) },
      c: { dtype: 'BF16', shape: [1, 2], bytes: Buffer.from(Uint16Array.of(0x3fc0, 0xc040).buffer) },
    });
    const values = await withFile(content, async (file) => {
      const tensors = [...(await readSafetensorsHeader(file)).values()];
      return Promise.all(tensors.map((tensor) => readFloats(file, tensor, 0, 2)));
    });
    expect(values.map((each) => [...each])).toEqual([
      [1.5, -2],
      [1, -2],
      [1.5, -3],
    ]);
  });

  const data = Buffer.alloc(32);
  it.each<[string, Buffer, string]>([
    ['no list', Buffer.from('abc'), 'it is too short for a list of tensors'],
    ['a list of 2^63 bytes', Buffer.from('0000000000000080', 'hex'), 'its list of tensors is cut short'],
    ['a list that is no JSON', fileOf('{"a":'), 'its list of tensors cannot be read: it is not JSON: Unexpected end'],
    ['a list of lists', fileOf('[1]'), 'the entry of 0 in its list of tensors is damaged'],
    ['null', fileOf('null'), 'its list of tensors is no object'],
    ['negative sizes', fileOf({ a: entry({ shape: [-2, -2] }) }, data), 'the entry of a in its list'],
    ['fractions', fileOf({ a: entry({ shape: [0.5, 8] }) }, data), 'the entry of a in its list'],
    ['huge sizes', fileOf({ a: entry({ shape: [2 ** 52, 2 ** 52] }) }, data), 'a has 16 bytes where ['],
    ['an end before the start', fileOf({ a: entry({ data_offsets: [16, 0] }) }, data), 'a ends before it begins'],
    ['an end beyond the file', fileOf({ a: entry({ data_offsets: [32, 48] }) }, data), 'a is cut short: it ends at'],
    ['another size', fileOf({ a: entry({ shape: [2, 3] }) }, data), 'a has 16 bytes where [2, 3] of F32 has 24'],
    [
      'one place twice',
      fileOf({ a: entry(), b: entry({ data_offsets: [8, 24] }) }, data),
      'its tensors a and b overlap at byte ',
    ],
    ['a prototype', fileOf('{"__proto__":{"dtype":"F32"}}'), 'the entry of __proto__ in its list'],
    ['sizes of 2^63', fileOf({ a: entry({ shape: [2 ** 63] }) }, data), 'the entry of a in its list'],
    [
      'offsets of 2^63',
      fileOf({ é: entry(), b: entry({ data_offsets: [2 ** 63, 2 ** 63] }) }, data),
      'the entry of b in its list of tensors is damaged (entry at byte 66)',
    ],
    [
      'a hostile name',
      fileOf({ [`\u001b[2J\n${'../'.repeat(1_000)}`]: entry({ data_offsets: [16, 0] }) }, data),
      `\ufffd[2J\ufffd${'../'.repeat(25)}…`.slice(0, 80),
    ],
  ])('names file and reason for %s', async (_, content, reason) => {
    const refused = withFile(content, readSafetensorsHeader);
    await expect(refused).rejects.toThrow(`The file model.safetensors cannot be converted: ${reason}`);
  });

  it('refuses a list of a gigabyte before it is read', async () => {
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(1_000_000_000n);
    const before = process.memoryUsage().arrayBuffers;
    const refused = withFile(length, async (file) => {
      await truncate(join(folder, 'model.safetensors'), 1_000_001_000);
      const whole = await InputFile.open(folder, file.name);
      try {
        return await readSafetensorsHeader(whole);
      } finally {
        await whole.close();
      }
    });
    await expect(refused).rejects.toThrow('its list of tensors has 1000000000 bytes, and at most 16777216 are read');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16_000_000);
  });

  it.each([
    ['NaN', 'F32', Buffer.from(Float32Array.of(1, NaN).buffer), 'value 1 of a at byte 66 is NaN, not a number'],
    [
      'infinity',
      'BF16',
      Buffer.from(Uint16Array.of(0x7f80, 0).buffer),
      'value 0 of a at byte 63 is Infinity, not a number',
    ],
    ['fp8 with a wide exponent', 'F8_E5M2', Buffer.from([1, 2]), 'a is of type F8_E5M2, which is not read'],
    ['fp8 that is no number', 'F8_E4M3', Buffer.from([1, 0xff]), 'value 1 of a at byte 67 is NaN, not a number'],
  ])('names file and tensor for weights of %s', async (_, dtype, bytes, reason) => {
    const refused = withFile(safetensorsFile({ a: { dtype, shape: [2], bytes } }), async (file) => {
      const [tensor] = (await readSafetensorsHeader(file)).values();
      return readFloats(file, tensor ?? expect.fail(), 0, 2);
    });
    await expect(refused).rejects.toThrow(`The file model.safetensors cannot be converted: ${reason}`);
  });
});
