import type { TextGenerationEngine, TextGenerationSink } from '../engines/text-generation.js';
import type { HostLoadOptions } from './host-protocol.js';

/** An engine with its model in memory. */
export interface LoadedEngine {
  engine: TextGenerationEngine;
  /** Execution provider it runs on, and why not on the preferred one where that differs. */
  provider: string;
  providerNote: string | null;
  slots: number;
}

/** Brings a model into memory; a host serves whatever engine it is given. Rejects with the reason in words. */
export type EngineLoader = (options: HostLoadOptions, sink: TextGenerationSink) => Promise<LoadedEngine>;
