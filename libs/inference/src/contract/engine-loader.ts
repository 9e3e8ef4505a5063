import type { Engine, EngineSink } from './engine.js';
import type { TaskRequest } from './task.js';
import type { TextGenerationRequest } from './text-generation.js';

/** What a host needs to load its model. Paths are local; nothing is fetched. */
export interface HostLoadOptions {
  modelId: string;
  /** Folder of the installed model, as `#model-store` lays it out. */
  directory: string;
  /** Graph file, relative to `directory`. */
  graphFile: string;
  /** Family of `#inference` that knows how to open the graph, from the manifest. */
  family: string;
  /** The family's own settings, from the manifest: pooling, sample rate, names of further graphs… */
  familyOptions: Readonly<Record<string, string | number | boolean>>;
  /** Execution providers in order of preference. */
  providers: string[];
  intraOpThreads: number;
  /** Most sequences in the batch. */
  slots: number;
  /** Longest prompt plus output, in tokens; at most what the model takes. */
  contextLength: number;
  /** Largest total of cached tokens over all slots. */
  cacheTokens: number;
}

/** A first request, made by the host itself, whose events nobody sees. */
export type WarmUp = Omit<TextGenerationRequest, 'id'> | Omit<TaskRequest, 'id'>;

/** An engine with its model in memory. */
export interface LoadedEngine {
  engine: Engine;
  /** Execution provider it runs on, and why not on the preferred one where that differs. */
  provider: string;
  providerNote: string | null;
  slots: number;
  /** Run before the host is ready: the first run of a session is slow, and no caller should wait for that. */
  warmUp?: WarmUp;
}

/** Brings a model into memory; a host serves whatever engine it is given. Rejects with the reason in words. */
export type EngineLoader = (options: HostLoadOptions, sink: EngineSink) => Promise<LoadedEngine>;
