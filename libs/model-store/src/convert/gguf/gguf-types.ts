/** Tensor storage in GGUF: `values` values in `bytes` bytes. */
export interface GgufType {
  name: string;
  values: number;
  bytes: number;
}

/** Types that `dequantize` supports, by their number in the file. */
export const ggufTypes: ReadonlyMap<number, GgufType> = new Map([
  [0, { name: 'F32', values: 1, bytes: 4 }],
  [1, { name: 'F16', values: 1, bytes: 2 }],
  [2, { name: 'Q4_0', values: 32, bytes: 18 }],
  [3, { name: 'Q4_1', values: 32, bytes: 20 }],
  [6, { name: 'Q5_0', values: 32, bytes: 22 }],
  [7, { name: 'Q5_1', values: 32, bytes: 24 }],
  [8, { name: 'Q8_0', values: 32, bytes: 34 }],
  [10, { name: 'Q2_K', values: 256, bytes: 84 }],
  [11, { name: 'Q3_K', values: 256, bytes: 110 }],
  [12, { name: 'Q4_K', values: 256, bytes: 144 }],
  [13, { name: 'Q5_K', values: 256, bytes: 176 }],
  [14, { name: 'Q6_K', values: 256, bytes: 210 }],
  [16, { name: 'IQ2_XXS', values: 256, bytes: 66 }],
  [30, { name: 'BF16', values: 1, bytes: 2 }],
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
