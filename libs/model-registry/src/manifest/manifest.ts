/*
 * The manifest of a model: one YAML file in `models/`, one row in the registry, one `manifest.json` beside the
 * installed weights. `manifest.schema.ts` holds the validated classes; these are the shapes the rest of the house
 * reads.
 */

import type { Pricing } from './pricing.js';

/** The nine concrete kinds of the contract (section 9.1). */
export const modelTypes = ['asr', 'embedding', 'image', 'music', 'text', 'tts', 'upscale', 'inpaint', 'video'] as const;
export type ModelType = (typeof modelTypes)[number];

/** Rate-limit tiers of text models. */
export type ModelTier = 'XS' | 'S' | 'M' | 'L';

/** Capabilities of the contract (section 9.1): a closed object, every boolean required on the wire. */
export interface ModelCapabilities {
  optimizedForCode: boolean;
  supportsFunctionCalling: boolean;
  supportsAudioInput: boolean;
  supportsReasoning: boolean;
  supportsReasoningEffort: boolean;
  supportsResponseSchema: boolean;
  supportsMultipleImages: boolean;
  supportsVision: boolean;
  supportsVideoInput: boolean;
  supportsWebSearch: boolean;
  supportsLogProbs: boolean;
  supportsTeeAttestation: boolean;
  supportsE2EE: boolean;
  supportsXSearch: boolean;
  quantization: 'fp4' | 'fp8' | 'fp16' | 'bf16' | 'int8' | 'int4' | 'not-available';
  reasoningEffortOptions?: string[];
  defaultReasoningEffort?: string;
  maxImages?: number;
  maxVideos?: number;
}

/** `deprecation` of the contract (section 20). Dates are ISO. */
export interface ModelDeprecation {
  autoRemap: boolean;
  date: string;
  removesAt: string;
  replacementModelId?: string;
  startsAt?: string;
}

/** One file of a model: where it comes from and what it must hash to. */
export interface ManifestFile {
  /** Path inside the source (package, repository, folder). */
  path: string;
  /** Path inside the installed model or, with a converter, inside its input; absent: the same. */
  as?: string;
  sha256?: string;
  bytes?: number;
}

/** Where weights come from: `npm:<package>@<version>`, `hf:<owner>/<repo>@<revision>`, `file:<path>`, `https:<url>`. */
export interface ManifestSource {
  uri: string;
  /** SRI of the npm tarball. */
  integrity?: string;
  files: ManifestFile[];
}

/** Files joined in order into one, before the converter runs. */
export interface ManifestConcat {
  parts: string[];
  as: string;
}

export interface ManifestConverter {
  kind: 'none' | 'llama2c' | 'gguf' | 'tfjs' | 'ncnn' | 'moonshine' | 'bert' | 'onnx';
  /** Converter's own options, e.g. `{ blockSize: 32 }`. */
  options?: Record<string, string | number | boolean>;
}

export interface TextConstraints {
  temperature: { default: number };
  top_p: { default: number };
  frequency_penalty?: { default: number };
  presence_penalty?: { default: number };
  repetition_penalty?: { default: number };
}

export interface ModelManifest {
  /** `[a-z0-9._-]`, no `:`; also the queue's second part and a folder name. */
  id: string;
  type: ModelType;
  name: string;
  description: string;
  /** Unix seconds. */
  created: number;
  ownedBy: string;
  /** Web page of the model's authors. */
  modelSource: string;
  license: string;
  /** Family of `#inference` (`decoder` for text models found by inspection). */
  family: string;
  /** The family's own settings: pooling, sample rate, names of further graphs… */
  familyOptions?: Record<string, string | number | boolean>;
  tier: ModelTier;
  privacy: 'private' | 'anonymized';
  /** Still being tried out; told to callers. */
  beta?: boolean;
  /** Only for callers with beta access. */
  betaModel?: boolean;
  /** Two-letter country codes from which the model may not be used. */
  regionRestrictions?: string[];
  uncensored?: boolean;
  /** Helps other models of its worker, as one that judges pictures does: callers can neither see nor name it. */
  internal?: boolean;
  sources: ManifestSource[];
  concat?: ManifestConcat[];
  converter: ManifestConverter;
  /** Graph file inside the installed model, e.g. `model.onnx` or `onnx/model_q4.onnx`. */
  graphFile: string;
  /** Bytes of the installed model, about; for progress and placement. */
  installedBytes?: number;
  /** Text models: longest prompt plus output, and most output, in tokens. */
  contextLength?: number;
  maxCompletionTokens?: number;
  /** Text models: most choices of one request (`n`); default 4. */
  maxChoices?: number;
  /** Batch slots and cache bound a host gives it by default. */
  slots?: number;
  cacheTokens?: number;
  capabilities: ModelCapabilities;
  constraints?: TextConstraints | Record<string, unknown>;
  pricing?: Pricing;
  /** Members of `model_spec` that only this kind of model has: voices, dimensions, durations. */
  kindMembers?: Record<string, unknown>;
  /** Trait names this model answers, with a rank: the online model with the highest rank wins. */
  traits?: Record<string, number>;
  /** Foreign names that mean this model. */
  aliases?: string[];
  deprecation?: ModelDeprecation;
  /** Named sets it belongs to: `starter`. */
  sets?: string[];
  /** Prepended unless `include_service_system_prompt` is false. */
  systemPrompt?: string;
}
