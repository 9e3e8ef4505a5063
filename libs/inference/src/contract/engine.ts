import type { EngineStats } from './engine-stats.js';
import type { TaskEngine, TaskEvent, TaskRequest } from './task.js';
import type {
  TextEngineStats,
  TextGenerationEngine,
  TextGenerationEvent,
  TextGenerationRequest,
} from './text-generation.js';

/** The figures of any engine; those of text are absent where it makes none. */
export type AnyEngineStats = EngineStats & Partial<TextEngineStats>;

export type EngineRequest = TextGenerationRequest | TaskRequest;
export type EngineEvent = TextGenerationEvent | TaskEvent;

/** What a model host can hold. A family takes the requests of its own kind. */
export type Engine = TextGenerationEngine | TaskEngine;

/** Receives the events of one step: pairs of request id and event, in order. */
export interface EngineSink {
  (events: [id: string, event: EngineEvent][]): void;
  /** Resolves when what it was given has left the process; absent where it arrives at once. */
  readonly delivered?: () => Promise<void>;
}
