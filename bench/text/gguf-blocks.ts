/**
 * A linear layer in blocks of 32: two codes per byte, the lower index in the lower half; value = (code - 8) × scale.
 */
export interface CodedRows {
  columns: number;
  rows: number;
  codes: Uint8Array;
  scales: Float32Array;
}

const blockSize = 32;
const codeBytes = blockSize / 2;
const blockBytes = codeBytes + 2;

/**
 * Encodes the same codes as GGUF Q4_0: per block a half-precision scale, then a byte for each pair of values half a
 * block apart. `sourceRow` maps rows, because queries and keys have another order there.
 */
export function packQ40({ columns, rows, codes, scales }: CodedRows, sourceRow: (row: number) => number): Buffer {
  const blocks = columns / blockSize;
  const packed = Buffer.alloc(rows * blocks * blockBytes);
  for (let row = 0; row < rows; row++) {
    for (let block = 0; block < blocks; block++) {
      const source = sourceRow(row) * blocks + block;
      const at = (row * blocks + block) * blockBytes;
      packed.writeUInt16LE(halfPrecision(scales[source] ?? 0), at);
      packBlock(codes.subarray(source * codeBytes, (source + 1) * codeBytes), packed, at + 2);
    }
  }
  return packed;
}

/**
 * Encodes a layer in blocks of 32 with one byte per code (value = (code - 128) × scale) as Q8_0: a scale, then signed
 * bytes.
 */
export function packQ80({ columns, rows, codes, scales }: CodedRows): Buffer {
  const blocks = (rows * columns) / blockSize;
  const packed = Buffer.alloc(blocks * (blockSize + 2));
  for (let block = 0; block < blocks; block++) {
    const at = block * (blockSize + 2);
    packed.writeUInt16LE(halfPrecision(scales[block] ?? 0), at);
    for (let index = 0; index < blockSize; index++) {
      packed[at + 2 + index] = (codes[block * blockSize + index] ?? 0) ^ 0x80;
    }
  }
  return packed;
}

function packBlock(codes: Uint8Array, packed: Buffer, at: number): void {
  const code = (index: number) => ((codes[index >> 1] ?? 0) >> ((index & 1) * 4)) & 15;
  for (let index = 0; index < codeBytes; index++) packed[at + index] = code(index) | (code(index + codeBytes) << 4);
}

/** Maps a `row` of the interleaved rotary order to the half-split order. */
export function interleavedSource(headSize: number): (row: number) => number {
  return (row) => {
    const within = row % headSize;
    const half = within & 1 ? headSize / 2 : 0;
    return row - within + half + (within >> 1);
  };
}

/** Nearest half-precision number, as bits; scales are well inside its normal range. */
export function halfPrecision(value: number): number {
  const [bits = 0] = new Uint32Array(new Float32Array([value]).buffer);
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 112;
  if (exponent <= 0) return sign;
  return (sign | (exponent << 10) | ((bits >>> 13) & 0x3ff)) + ((bits >>> 12) & 1);
}
