import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { dequantize } from './gguf-dequantize.js';
import { ggufTypes } from './gguf-types.js';

interface Fixture {
  blocks: string;
  values: string;
}

const fixtures = JSON.parse(await readFile(new URL('./__fixtures__/blocks.json', import.meta.url), 'utf8')) as Record<
  string,
  Fixture
>;

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(text, 'base64'));
}

function typeOf(name: string) {
  const type = [...ggufTypes.values()].find((entry) => entry.name === name);
  if (!type) throw new Error(`${name} is not in the table.`);
  return type;
}

describe('dequantize', () => {
  it.each(Object.keys(fixtures))('reads %s like the reference implementation', (name) => {
    const fixture = fixtures[name] ?? { blocks: '', values: '' };
    const expected = new Float32Array(bytes(fixture.values).buffer);
    const values = dequantize(typeOf(name), bytes(fixture.blocks));
    expect(values.length).toBe(expected.length);
    values.forEach((value, index) => expect(value).toBeCloseTo(expected[index] ?? NaN, 5));
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
