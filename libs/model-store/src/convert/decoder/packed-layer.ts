/** A linear layer that a checkpoint stores in 4 bits: a value is `(code - zero) * scale`. */
export interface PackedLayer {
  /** Inputs that share scale and zero point; a multiple of 32. */
  groupSize: number;
  /** Whether all zero points are 8, which needs no tensor of them. */
  isSymmetric: boolean;
  /** First of the outputs in the stored matrix, where layers are stored as one. */
  firstOutput: number;
  read(): Promise<PackedMatrix>;
}

export interface PackedMatrix {
  inputs: number;
  outputs: number;
  groupSize: number;
  /** A code per byte of the outputs `[from, to)`: `[outputs, inputs]`. */
  codes(from: number, to: number): Uint8Array;
  /** `[inputs / groupSize, outputs]`. */
  zeros: Uint8Array;
  scales: Float32Array;
}
