import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blocksPerRow, quantizeRows, type BlockFormat } from './quantize-blocks.js';

/** Dequantises codes as MatMulNBits does. */
function restore(values: Float32Array, columns: number, format: BlockFormat): Float32Array {
  const { codes, scales } = quantizeRows(values, columns, format);
  const blocks = blocksPerRow(columns, format);
  return values.map((_, index) => {
    const row = Math.floor(index / columns);
    const block = row * blocks + Math.floor((index % columns) / format.blockSize);
    const position = block * format.blockSize + ((index % columns) % format.blockSize);
    const code = format.bits === 8 ? (codes[position] ?? 0) - 128 : nibble(codes, position) - 8;
    return code * (scales[block] ?? NaN);
  });
}

function nibble(codes: Uint8Array, position: number): number {
  const byte = codes[position >> 1] ?? 0;
  return position % 2 === 0 ? byte & 15 : byte >> 4;
}

const formats = fc.record({
  bits: fc.constantFrom(4 as const, 8 as const),
  blockSize: fc.constantFrom(32 as const, 64 as const, 128 as const),
});
const finite = fc.float({ min: -100, max: 100, noNaN: true });

describe('quantizeRows', () => {
  it('stays within a step of every value, also in a row with an incomplete last block', () => {
    fc.assert(
      fc.property(
        formats,
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 150 }),
        fc.infiniteStream(finite),
        (format, rows, columns, stream) => {
          const values = Float32Array.from({ length: rows * columns }, () => stream.next().value ?? 0);
          const peak = values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
          const step = format.bits === 8 ? peak / 127 : peak / 5;
          restore(values, columns, format).forEach((value, index) => {
            expect(Math.abs(value - (values[index] ?? NaN))).toBeLessThanOrEqual(step * 1.01 + 1e-6);
          });
        },
      ),
      { numRuns: 60 },
    );
  });

  it('keeps blocks that already are 4-bit codes unchanged', () => {
    const codes = Float32Array.from({ length: 64 }, (_, index) => (index % 16) - 8);
    expect([
      ...restore(
        codes.map((code) => code * 0.5),
        32,
        { bits: 4, blockSize: 32 },
      ),
    ]).toEqual([...codes].map((code) => code * 0.5));
  });

  it('loses almost nothing of the three magnitudes of two-bit formats', () => {
    const magnitudes = [8, 25, 43, -8, -25, -43];
    const values = Float32Array.from({ length: 32 }, (_, index) => (magnitudes[(index * 7) % 6] ?? 0) * 0.01);
    const error = restore(values, 32, { bits: 4, blockSize: 32 }).reduce(
      (sum, value, index) => sum + (value - (values[index] ?? 0)) ** 2,
      0,
    );
    const energy = values.reduce((sum, value) => sum + value * value, 0);
    expect(error / energy).toBeLessThan(0.001);
  });

  it('writes zeros as zeros', () => {
    for (const bits of [4, 8] as const) {
      expect([...restore(new Float32Array(64), 64, { bits, blockSize: 64 })].every((value) => value === 0)).toBe(true);
    }
  });
});
