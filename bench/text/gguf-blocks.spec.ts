import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { halfPrecision, interleavedSource, packQ40, packQ80 } from './gguf-blocks.js';

/** Decodes a Q4_0 block as the format defines it. */
function unpackCodes(packed: Buffer): number[] {
  const bytes = [...packed.subarray(2, 18)];
  return [...bytes.map((byte) => byte & 15), ...bytes.map((byte) => byte >> 4)];
}

describe('GGUF blocks', () => {
  it('preserve every code', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 15 }), { minLength: 32, maxLength: 32 }), (codes) => {
        const paired = Uint8Array.from(
          { length: 16 },
          (_, index) => (codes[2 * index] ?? 0) | ((codes[2 * index + 1] ?? 0) << 4),
        );
        const packed = packQ40({ columns: 32, rows: 1, codes: paired, scales: new Float32Array([1]) }, (row) => row);
        expect(unpackCodes(packed)).toEqual(codes);
      }),
    );
  });

  it('convert bytes centered at 128 to signed bytes', () => {
    const codes = Uint8Array.from({ length: 32 }, (_, index) => 112 + index);
    const packed = packQ80({ columns: 32, rows: 1, codes, scales: new Float32Array([1]) });
    expect(new Int8Array(packed.subarray(2))).toEqual(Int8Array.from(codes, (code) => code - 128));
  });

  it('write scales in half precision', () => {
    expect(halfPrecision(1)).toBe(0x3c00);
    expect(halfPrecision(-2)).toBe(0xc000);
    expect(halfPrecision(0)).toBe(0);
  });

  it('take rows from their position in half-split order', () => {
    expect([0, 1, 2, 3, 4, 5, 6, 7].map(interleavedSource(4))).toEqual([0, 2, 1, 3, 4, 6, 5, 7]);
  });
});
