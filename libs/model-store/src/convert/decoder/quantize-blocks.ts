import { ExactBlocks, peakOf } from './exact-blocks.js';

/** Storage of a linear layer in blocks along its inputs, each with a scale, as MatMulNBits reads it. */
export interface BlockFormat {
  bits: 4 | 8;
  blockSize: 16 | 32 | 64 | 128;
}

export interface QuantizedRows {
  /** `[rows, blocks, blockSize * bits / 8]`; two 4-bit codes per byte, the lower index in the lower half. */
  codes: Uint8Array;
  /** `[rows, blocks]`. A value is `(code - 2^(bits-1)) * scale`. */
  scales: Float32Array;
}

export function blocksPerRow(columns: number, format: BlockFormat): number {
  return Math.ceil(columns / format.blockSize);
}

/**
 * Quantises `values`, a row-major `[rows, columns]` matrix. An incomplete last block is padded with zeros. Blocks that
 * were dequantised from codes of at most as many bits with a scale, as those of most GGUF types, keep their values to the
 * bit.
 */
export function quantizeRows(values: Float32Array, columns: number, format: BlockFormat): QuantizedRows {
  const { blockSize, bits } = format;
  const rows = values.length / columns;
  const blocks = blocksPerRow(columns, format);
  const codes = new Uint8Array((rows * blocks * blockSize * bits) / 8);
  const scales = new Float32Array(rows * blocks);
  const quantize = bits === 4 ? quantizeBlock4 : quantizeBlock8;
  const exact = new ExactBlocks(bits);
  const block = new Float32Array(blockSize);
  const blockBytes = (blockSize * bits) / 8;
  for (let index = 0; index < scales.length; index++) {
    const row = Math.floor(index / blocks);
    const start = (index - row * blocks) * blockSize;
    const end = Math.min(start + blockSize, columns);
    block.fill(0, end - start);
    block.set(values.subarray(row * columns + start, row * columns + end));
    scales[index] = exact.write(block, codes, index * blockBytes) ?? quantize(block, codes, index * blockBytes);
  }
  return { codes, scales };
}

/**
 * Candidate codes for the largest value of a 4-bit block; the one with the smallest square error is used. ±8 and ±7 use
 * the whole range, and ±9 sacrifices an outlier. ±5.375 maps the three magnitudes (8, 25, 43) of the two-bit GGUF
 * formats onto 1, 3 and 5, so re-quantising those loses almost nothing.
 */
const peakCodes = [-8, 8, -7, 7, -6.25, 6.25, -5.375, 5.375, -9, 9];

/**
 * Candidates for longer blocks, chosen by measured perplexity: more candidates leave less error in the weights but
 * predict much worse (`docs/operate/performance.md`).
 */
const longBlockPeakCodes = [-8, -5.119, 7, 5.119, 8];

/** Writes 4-bit codes of the block at `offset` and returns its scale. */
function quantizeBlock4(block: Float32Array, codes: Uint8Array, offset: number): number {
  const peak = peakOf(block);
  if (peak === 0) {
    codes.fill(0x88, offset, offset + block.length / 2);
    return 0;
  }
  let best = 0;
  let maxExplained = -1;
  for (const code of block.length > 32 ? longBlockPeakCodes : peakCodes) {
    const explained = explainedSquares(block, code / peak);
    if (explained > maxExplained) {
      maxExplained = explained;
      best = code / peak;
    }
  }
  return writeCodes4(block, best, codes, offset);
}

/** The bitwise or truncates, which rounds here because the shifted code is not negative after clamping. */
function code4(value: number, inverse: number): number {
  const code = (value * inverse + 8.5) | 0;
  return code < 0 ? 0 : code > 15 ? 15 : code;
}

/**
 * Returns the reduction of the square error. With the best scale for codes `c` and values `v`, that error is `sum(v²) -
 * sum(v·c)² / sum(c²)`; this is the second term.
 */
function explainedSquares(block: Float32Array, inverse: number): number {
  let product = 0;
  let square = 0;
  for (let index = 0; index < block.length; index++) {
    const value = block[index] as number;
    const code = code4(value, inverse) - 8;
    product += value * code;
    square += code * code;
  }
  return square > 0 ? (product * product) / square : 0;
}

/** Writes the codes of an inverse scale and returns the best scale for those codes. */
function writeCodes4(block: Float32Array, inverse: number, codes: Uint8Array, offset: number): number {
  let product = 0;
  let square = 0;
  for (let index = 0; index < block.length; index += 2) {
    const first = block[index] as number;
    const second = block[index + 1] as number;
    const low = code4(first, inverse);
    const high = code4(second, inverse);
    codes[offset + (index >> 1)] = low | (high << 4);
    product += first * (low - 8) + second * (high - 8);
    square += (low - 8) * (low - 8) + (high - 8) * (high - 8);
  }
  return square > 0 ? product / square : 1 / inverse;
}

/** Writes 8-bit codes of the block at `offset` and returns its scale. */
function quantizeBlock8(block: Float32Array, codes: Uint8Array, offset: number): number {
  const peak = Math.abs(peakOf(block));
  const inverse = peak === 0 ? 0 : 127 / peak;
  for (let index = 0; index < block.length; index++) {
    codes[offset + index] = (block[index] as number) * inverse + 128.5;
  }
  return peak / 127;
}
