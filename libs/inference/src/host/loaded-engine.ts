import type { Engine, EngineSink } from '../engines/engine.js';
import type { TaskRequest } from '../engines/task.js';
import type { TextGenerationRequest } from '../engines/text-generation.js';
import type { HostLoadOptions } from './host-protocol.js';

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
