import type { PackedLayer } from './packed-layer.js';

/**
 * A decoder checkpoint in the terms of GGUF, whatever the format on disk. The table in `architectures.ts` says what each
 * architecture computes from it, and `SourceDecoder` turns it into a graph's shape and weights.
 */
export interface DecoderSource {
  /** Named in messages. */
  readonly fileName: string;
  /** A key of `architectures`: GGUF's `general.architecture`. */
  readonly architecture: string;
  readonly parameters: Hyperparameters;
  /** Every tensor under its GGUF name, such as `blk.0.attn_q.weight`, with the content that GGUF has. */
  readonly tensors: ReadonlyMap<string, SourceTensor>;
  /** Order of rotary pairs in queries and keys; absent: that of GGUF files of this architecture. */
  readonly rotaryPairs?: RotaryPairs;
  /** Order of value heads that share a key head in layers of the kind `gated-delta`; absent: that of GGUF files. */
  readonly headOrder?: 'grouped' | 'tiled';
  /** The graph takes images: how many of its first layers add features of them; absent: tokens only. */
  readonly images?: { deepLayers: number };
}

/** Blocks of 8 bits that hold every value of a tensor. */
export interface KeptBlocks {
  size: 16 | 32 | 64 | 128;
  /** Returns in each row the codes around zero, then the scales of its blocks. */
  rows(from: number, to: number): Promise<Float32Array>;
}

/** The two values of a rotary pair stand side by side, or in the two halves of a head. */
export type RotaryPairs = 'adjacent' | 'halves';

export interface SourceTensor {
  /** Innermost first, as in GGUF: `[columns, rows]` of a matrix, `[columns, rows, experts]` of experts. */
  readonly dimensions: readonly number[];
  /** Returns rows `[from, to)` over all outer dimensions, in memory the caller may keep. A vector is one row. */
  rows(from: number, to: number): Promise<Float32Array>;
  /** Its blocks with offsets, of `size` values, as `WeightSource.blockRows` has them. */
  readonly offsetBlocks?: { readonly size: number; rows(from: number, to: number): Promise<Float32Array> };
  readonly keptBlocks?: KeptBlocks;
  /** Where it is stored, for messages; absent: in the source, under its GGUF name. */
  readonly origin?: { fileName: string; name: string };
  /** A linear layer in 4 bits that the graph keeps as they are. */
  readonly packed?: Omit<PackedLayer, 'firstOutput'>;
}

/**
 * Values by the keys of GGUF without the architecture's prefix: `embedding_length`, `attention.head_count`,
 * `rope.freq_base`. Missing values without a fallback and wrong types fail with `INVALID_MODEL`.
 *
 * Keys that GGUF files lack, for other formats: `rope.unrotated_layers` (a flag per layer), `hidden_activation` (`silu`, `gelu` or
 * `gelu-tanh`), `expert_weights_norm` (the weights of the chosen experts add up to one), `attention.latent_norm_epsilon`,
 * `attention.rotated_norm` (a flag), `ssm.smallest_step` (least step of a Mamba layer).
 */
export interface Hyperparameters {
  has(key: string): boolean;
  number(key: string, fallback?: number): number;
  /** A whole number from 1. */
  size(key: string, fallback?: number): number;
  text(key: string, fallback?: string): string;
  flag(key: string, fallback: boolean): boolean;
  /** Returns null unless the value is a list of booleans. */
  optionalFlags(key: string): boolean[] | null;
  /** Returns null unless the value is a list of numbers. */
  listedNumbers(key: string): number[] | null;
}
