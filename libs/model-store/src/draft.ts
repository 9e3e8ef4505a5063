import type { ModelManifest, TextConstraints } from '#model-registry/manifest';
import type { DecoderSize, DecoderUse, FamilySize } from '#model-memory';
import type { WeightFormat } from './convert/conversion-options.js';
import type { DecoderPurpose } from './convert/decoder/decoder-purpose.js';
import type { SentencePooling } from './convert/sentence/sentence-head.js';
import type { InstalledModel } from './installed-models.js';

/** Finds the installed base of an adapter by the name that its author gave. */
export type FindBase = (baseName: string | null) => Promise<InstalledModel>;

/** Operator settings for a model without a manifest. */
export interface DraftOptions {
  id?: string;
  name?: string;
  tier?: ModelManifest['tier'];
  /** USD per million tokens. */
  inputPriceUsd?: number;
  outputPriceUsd?: number;
  /** Of a GGUF file or safetensors; default: the precision of the file. */
  weights?: WeightFormat;
  /** Of a GGUF file or safetensors; default: the model's own, at most 8,192. */
  contextLength?: number;
  /** The purpose of a decoder whose files do not state it. */
  purpose?: DecoderPurpose;
  /** The pooling of an embedding model whose files do not state it. */
  pooling?: SentencePooling;
  /** The file of the part that sees beside a GGUF file; `none`: without. Default: the one beside it. */
  projector?: string;
  /** Lengths that vectors may be truncated to, where the files do not say it: any, or these. */
  matryoshka?: 'any' | number[];
  /** Where the source names none. */
  license?: string;
  /** Sampling where the source recommends none, as GGUF files never do. */
  constraints?: TextConstraints;
  /** Finds the base of an adapter. */
  findBase?: FindBase;
}

/** A manifest for review, and what it was drafted from. */
export interface Draft {
  manifest: ModelManifest;
  facts: DraftFacts;
}

export interface DraftFacts {
  /** Such as `llama, 1.1 B parameters, GGUF with Q4_K, Q6_K`. */
  summary: string;
  /** What the model loses against its file; absent: nothing that the file does not say. */
  rounding?: string;
  /** The one of several files that was chosen; absent: there was one, or it was named. */
  choice?: string;
  /** Why a file beside the model is not used; absent: all are. */
  ignored?: string;
  /** Sizes with other weights; absent: nothing smaller loses little. */
  smaller?: { weights: WeightFormat; size: DecoderSize }[];
  /** Size of the files after installation. */
  weightsBytes: number;
  /** What the memory of a decoder depends on, and how the manifest uses it; null if the source does not say. */
  decoder: { size: DecoderSize; use: DecoderUse } | null;
  /** What the memory of another model depends on; absent for adapters. */
  family?: { size: FamilySize; contextLength: number };
}
