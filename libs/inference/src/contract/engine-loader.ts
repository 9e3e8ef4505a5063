import type { RunShape } from '#model-memory';
import type { ModelManifest } from '#model-registry/manifest';
import type { TeeChoice } from '#tee';
import type { Engine, EngineSink } from './engine.js';
import type { ReasoningFormat } from './reasoning-format.js';
import type { TaskRequest } from './task.js';
import type { TextGenerationRequest } from './text-generation.js';

/** Load options of a host. Paths are local; nothing is downloaded. */
export interface HostLoadOptions {
  modelId: string;
  /** Folder of the installed model, in the layout of `#model-store`. */
  directory: string;
  /** Graph file, relative to `directory`. */
  graphFile: string;
  /** Family of `#inference` that opens the graph, from the manifest. */
  family: string;
  /** Family-specific settings from the manifest: pooling, sample rate, names of further graphs… */
  familyOptions: Readonly<Record<string, string | number | boolean>>;
  /**
   * Text models: how it marks its reasoning. `usual`: it reasons, and its chat template or else `<think>` says how; null
   * or absent: only a template that mentions reasoning means that it does.
   */
  reasoning?: ReasoningFormat | 'usual' | null;
  /** Text models: how it writes tool calls; absent: as its chat template says. */
  toolStyle?: string;
  /** LoRA adapters to compute beside the model; absent: none. */
  adapters?: AdapterOptions[];
  /** Execution providers in order of preference. */
  providers: string[];
  /** Why providers before them are not among them; absent: none was left out. */
  skippedProviders?: readonly string[];
  /** Libraries with further providers; absent: none. */
  providerLibraries?: readonly { provider: string; path: string }[];
  /** How its weights are stored, as its manifest says; absent: unknown. */
  quantization?: ModelManifest['capabilities']['quantization'];
  intraOpThreads: number;
  /** Maximum number of sequences in the batch. */
  slots: number;
  /** Sequences beyond `slots`, of requests that may use a spare slot; absent: none. Engines without a batch of texts have none. */
  spareSlots?: number;
  /** Longest prompt plus output in tokens; at most the model's context length. */
  contextLength: number;
  /** Maximum of cached tokens over all slots. */
  cacheTokens: number;
  /** Maximum number of tokens that prompt lookup drafts for a step of a text; absent: none. */
  draftTokens?: number;
  /** Where evidence for the key of the host comes from; absent: it makes no key. */
  tee?: TeeChoice;
}

/** An installed adapter. */
export interface AdapterOptions {
  /** Named by requests as `adapter`. */
  modelId: string;
  directory: string;
}

/** A warm-up request by the host itself, whose events are discarded. */
export type WarmUp = Omit<TextGenerationRequest, 'id'> | Omit<TaskRequest, 'id'>;

/** An engine with its model loaded. */
export interface LoadedEngine {
  engine: Engine;
  /** Execution provider in use, and why the preferred one is not, if they differ. */
  provider: string;
  providerNote: string | null;
  slots: number;
  /** Absent: none. */
  spareSlots?: number;
  /** Adapters that are loaded, by model id, and why others are not; absent: none were wanted. */
  adapters?: LoadedAdapters;
  /** How the memory of a run grows with the size of its images. Absent: its inputs are bounded, or have none. */
  run?: RunShape;
  /** Whether a text is the same alone and in any batch, bit by bit; absent: the engine has no batches of texts. */
  batchInvariant?: boolean;
  /** Type of the numbers in the cache of a text model; absent: the engine has no such cache. */
  cacheType?: string;
  /** Run before the host is ready, because the first run of a session is slow. */
  warmUp?: WarmUp;
  /** Run on several providers, whose results and times are compared; default: `warmUp`. */
  trial?: WarmUp;
}

export interface LoadedAdapters {
  modelIds: string[];
  refused: { modelId: string; reason: string }[];
}

/** Loads a model and returns its engine. Rejects with a readable reason. */
export type EngineLoader = (options: HostLoadOptions, sink: EngineSink) => Promise<LoadedEngine>;
