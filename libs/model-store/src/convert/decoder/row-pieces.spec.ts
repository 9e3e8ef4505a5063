import { describe, expect, it } from 'vitest';
import { channelPieces } from './channel-linear.js';
import { transposed } from './linear-layer.js';
import { inputBands } from './row-pieces.js';
import type { WeightSource } from './weight-source.js';

const layer = { name: 'w', inputs: 7, outputs: 5 };
const values = Float32Array.from({ length: 35 }, (_, index) => Math.sin(index));
const rows = (_: string, from: number, to: number) => Promise.resolve(values.slice(from * 7, to * 7));
const weights: WeightSource = { rows, vector: () => expect.fail() };

async function collect(pieces: AsyncGenerator<Uint8Array, unknown>): Promise<{ pieces: number; bytes: Buffer }> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return { pieces: all.length, bytes: Buffer.concat(all) };
}

describe('a transposed matrix', () => {
  it.each([
    [1, 7],
    [10, 4],
    [14, 4],
    [35, 1],
  ])('of at most %i values in memory is written in %i bands', (maxValues, count) => {
    const bands = [...inputBands(layer, maxValues)];
    expect(bands).toHaveLength(count);
    expect(bands.map(({ from }) => from)).toEqual([0, ...bands.slice(0, -1).map(({ to }) => to)]);
    expect(bands.at(-1)?.to).toBe(layer.inputs);
  });

  it('is the same in bands', async () => {
    const whole = await collect(transposed(weights, 'float32', layer));
    const banded = await collect(transposed(weights, 'float32', layer, 12));
    expect([whole.pieces, banded.pieces]).toEqual([1, 4]);
    expect(banded.bytes.equals(whole.bytes)).toBe(true);
    expect(whole.bytes.readFloatLE(4)).toBe(values[7]);
    const codes = await collect(channelPieces(weights, layer));
    const bandedCodes = await collect(channelPieces(weights, layer, 12));
    expect([codes.pieces, bandedCodes.pieces]).toEqual([1, 4]);
    expect(bandedCodes.bytes.equals(codes.bytes)).toBe(true);
  });
});
