import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { dequantize } from './gguf-dequantize.js';
import { ggufTypes, type GgufType } from './gguf-types.js';

/** What the reference implementation computes of random blocks. */
interface Fixture {
  /** Bytes of a block whose second-highest bit is cleared, so that no scale is infinite. */
  scales: number[];
  first: number[];
  sha256: string;
}

const fixtures = JSON.parse(await readFile(new URL('./__fixtures__/blocks.json', import.meta.url), 'utf8')) as Record<
  string,
  Fixture
>;
const count = 500;

/** The same bytes as `make-fixtures.py` makes: hashes of the type's name with a counter. */
function randomBlocks({ name, bytes: size }: GgufType, scales: number[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(count * size);
  for (let index = 0; index * 32 < bytes.length; index++) {
    const hash = createHash('sha256').update(`${name} ${index}`).digest();
    bytes.set(hash.subarray(0, bytes.length - index * 32), index * 32);
  }
  for (let block = 0; block < count; block++) {
    for (const offset of scales) bytes[block * size + offset] = (bytes[block * size + offset] ?? 0) & 0xbf;
  }
  return bytes;
}

function typeOf(name: string): GgufType {
  const type = [...ggufTypes.values()].find((entry) => entry.name === name);
  if (!type) throw new Error(`${name} is not in the table.`);
  return type;
}

describe('dequantize', () => {
  it.each(Object.entries(fixtures))('reads %s as the reference implementation does, to the bit', (name, fixture) => {
    const values = dequantize(typeOf(name), randomBlocks(typeOf(name), fixture.scales));
    expect(values.length).toBe(count * typeOf(name).values);
    expect([...values.subarray(0, 4)]).toEqual(fixture.first);
    expect(createHash('sha256').update(new Uint8Array(values.buffer)).digest('hex')).toBe(fixture.sha256);
  });

  it('has a fixture for every type but plain float32', () => {
    const names = [...ggufTypes.values()].map((type) => type.name).filter((name) => name !== 'F32');
    expect(Object.keys(fixtures).sort()).toEqual(names.sort());
  });

  it('reads float32 unchanged', () => {
    const values = Float32Array.of(1, -2.5, 1e30);
    expect(dequantize(typeOf('F32'), new Uint8Array(values.buffer))).toEqual(values);
  });
});
