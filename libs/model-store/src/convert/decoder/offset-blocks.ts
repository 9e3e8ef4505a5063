import type { GraphBuilder, ValueName } from '../../onnx/index.js';
import { type BlockFormat, blocksPerRow } from './quantize-blocks.js';
import { type LinearLayer, rowPieces } from './row-pieces.js';
import type { WeightSource } from './weight-source.js';

/*
 * Blocks whose values are `code * scale + offset`, as they are stored. The kernel knows no offsets that are no multiples
 * of the scale, but their part of a product needs only the sums of the input's blocks: `sum(x * offset) = sum(x) * offset`.
 */

/** Adds the sums of the blocks of `[batch, sequence, inputs]`; the runtime computes those of layers that share it once. */
export function emitBlockSums(builder: GraphBuilder, input: ValueName, blockSize: number): ValueName {
  return sumBlocks(builder, builder.node('Reshape', [input, builder.integers([0, 0, -1, blockSize])]));
}

/** The same of `[rows, inputs]`. */
export function emitRowBlockSums(builder: GraphBuilder, input: ValueName, blockSize: number): ValueName {
  return sumBlocks(builder, builder.node('Reshape', [input, builder.integers([0, -1, blockSize])]));
}

function sumBlocks(builder: GraphBuilder, blocks: ValueName): ValueName {
  return builder.node('ReduceSum', [blocks, builder.integers([-1])], { keepdims: 0 });
}

/**
 * Yields the codes of a layer that its source has in blocks. Returns their scales, `[outputs, blocks]`, and offsets if they
 * have any, `[blocks, outputs]`.
 */
export async function* keptBlockPieces(
  weights: WeightSource,
  format: BlockFormat & { hasOffset?: true },
  layer: LinearLayer,
): AsyncGenerator<Uint8Array, readonly Float32Array[]> {
  const { name, inputs, outputs } = layer;
  const blocks = blocksPerRow(inputs, format);
  const scales = new Float32Array(outputs * blocks);
  const offsets = new Float32Array(format.hasOffset ? blocks * outputs : 0);
  const read = (from: number, to: number) => {
    if (!weights.blockRows) throw new Error(`${name} has no blocks to keep.`);
    return weights.blockRows(name, from, to);
  };
  for await (const { from, values } of rowPieces(weights, layer, read)) {
    const length = inputs + (format.hasOffset ? 2 : 1) * blocks;
    const rows = values.length / length;
    const codes = new Uint8Array((rows * inputs * format.bits) / 8);
    for (let row = 0; row < rows; row++) {
      const start = row * length;
      packCodes(values.subarray(start, start + inputs), format.bits, codes, (row * inputs * format.bits) / 8);
      scales.set(values.subarray(start + inputs, start + inputs + blocks), (from + row) * blocks);
      for (let block = 0; format.hasOffset && block < blocks; block++) {
        offsets[block * outputs + from + row] = values[start + inputs + blocks + block] as number;
      }
    }
    yield codes;
  }
  return format.hasOffset ? [scales, offsets] : [scales];
}

/** Writes codes around zero as those of the kernel, which are positive. */
function packCodes(codes: Float32Array, bits: 4 | 8, packed: Uint8Array, to: number): void {
  if (bits === 8) {
    for (let index = 0; index < codes.length; index++) packed[to + index] = (codes[index] as number) + 128;
    return;
  }
  for (let index = 0; index < codes.length; index += 2) {
    const high = (codes[index + 1] as number) + 8;
    packed[to + (index >> 1)] = ((codes[index] as number) + 8) | (high << 4);
  }
}
