import type { PackedLayer } from './packed-layer.js';

/** Source of a decoder's weights by the names of `weightNames`. Read lazily, while the file is written. */
export interface WeightSource {
  /** Returns rows `[from, to)` of a `[rows, columns]` matrix, row-major, in memory the caller may keep. */
  rows(name: string, from: number, to: number): Promise<Float32Array>;
  /**
   * Returns rows `[from, to)` of a matrix whose stored blocks the graph keeps: in each row the codes around zero, then the
   * scales of its blocks, then their offsets if they have any. A value is `code * scale + offset`.
   */
  blockRows?(name: string, from: number, to: number): Promise<Float32Array>;
  /** Returns a whole vector: a norm's gain or a bias. */
  vector(name: string): Promise<Float32Array>;
  /** A layer whose stored 4-bit codes the graph keeps; null or absent: its rows are read. */
  packed?(name: string): PackedLayer | null;
}
