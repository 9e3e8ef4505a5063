import type { StoredBlocks } from '../decoder/linear-layer.js';

/** Tensor storage in GGUF: `values` values in `bytes` bytes. */
export interface GgufType {
  name: string;
  values: number;
  bytes: number;
  /** The narrowest blocks of a converted model that keep every value. Absent for floats. */
  kept?: StoredBlocks;
}

/** Types that `dequantize` supports, by their number in the file. */
export const ggufTypes: ReadonlyMap<number, GgufType> = new Map([
  [0, { name: 'F32', values: 1, bytes: 4 }],
  [1, { name: 'F16', values: 1, bytes: 2 }],
  [2, { name: 'Q4_0', values: 32, bytes: 18, kept: { bits: 4, blockSize: 32 } }],
  [3, { name: 'Q4_1', values: 32, bytes: 20, kept: { bits: 4, blockSize: 32, hasOffset: true } }],
  [6, { name: 'Q5_0', values: 32, bytes: 22, kept: { bits: 8, blockSize: 32 } }],
  [7, { name: 'Q5_1', values: 32, bytes: 24, kept: { bits: 8, blockSize: 32, hasOffset: true } }],
  [8, { name: 'Q8_0', values: 32, bytes: 34, kept: { bits: 8, blockSize: 32 } }],
  [10, { name: 'Q2_K', values: 256, bytes: 84, kept: { bits: 4, blockSize: 16, hasOffset: true } }],
  [11, { name: 'Q3_K', values: 256, bytes: 110, kept: { bits: 4, blockSize: 16 } }],
  [12, { name: 'Q4_K', values: 256, bytes: 144, kept: { bits: 4, blockSize: 32, hasOffset: true } }],
  [13, { name: 'Q5_K', values: 256, bytes: 176, kept: { bits: 8, blockSize: 32, hasOffset: true } }],
  [14, { name: 'Q6_K', values: 256, bytes: 210, kept: { bits: 8, blockSize: 16 } }],
  [16, { name: 'IQ2_XXS', values: 256, bytes: 66, kept: { bits: 8, blockSize: 32 } }],
  [17, { name: 'IQ2_XS', values: 256, bytes: 74, kept: { bits: 8, blockSize: 16 } }],
  [18, { name: 'IQ3_XXS', values: 256, bytes: 98, kept: { bits: 8, blockSize: 32 } }],
  [19, { name: 'IQ1_S', values: 256, bytes: 50, kept: { bits: 8, blockSize: 32 } }],
  [20, { name: 'IQ4_NL', values: 32, bytes: 18, kept: { bits: 8, blockSize: 32 } }],
  [21, { name: 'IQ3_S', values: 256, bytes: 110, kept: { bits: 8, blockSize: 32 } }],
  [22, { name: 'IQ2_S', values: 256, bytes: 82, kept: { bits: 8, blockSize: 16 } }],
  [23, { name: 'IQ4_XS', values: 256, bytes: 136, kept: { bits: 8, blockSize: 32 } }],
  [29, { name: 'IQ1_M', values: 256, bytes: 56, kept: { bits: 8, blockSize: 16 } }],
  [30, { name: 'BF16', values: 1, bytes: 2 }],
  [34, { name: 'TQ1_0', values: 256, bytes: 54, kept: { bits: 4, blockSize: 32 } }],
  [35, { name: 'TQ2_0', values: 256, bytes: 66, kept: { bits: 4, blockSize: 32 } }],
  [39, { name: 'MXFP4', values: 32, bytes: 17, kept: { bits: 8, blockSize: 32 } }],
]);

export type GgufValue = number | bigint | boolean | string | GgufValue[];

export interface GgufTensor {
  name: string;
  /** Innermost first: `[columns, rows]` of a matrix. */
  dimensions: number[];
  type: GgufType;
  /** From the start of the file. */
  offset: number;
  bytes: number;
}

export interface GgufHeader {
  metadata: Map<string, GgufValue>;
  tensors: Map<string, GgufTensor>;
}
