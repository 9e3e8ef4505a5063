import type { EngineStats } from './engine-stats.js';
import type { TaskEngine, TaskEvent, TaskRequest } from './task.js';
import type {
  TextEngineStats,
  TextGenerationEngine,
  TextGenerationEvent,
  TextGenerationRequest,
} from './text-generation.js';

/** Statistics of any engine; the members of text generation are optional. */
export type AnyEngineStats = EngineStats & Partial<TextEngineStats>;

export type EngineRequest = TextGenerationRequest | TaskRequest;
export type EngineEvent = TextGenerationEvent | TaskEvent;

/** Engine of a model host. A family accepts requests of its own kind. */
export type Engine = TextGenerationEngine | TaskEngine;

/** Receives the events of one step: pairs of request id and event, in order. */
export interface EngineSink {
  (events: [id: string, event: EngineEvent][]): void;
  /** Resolves when sent messages have left the process; absent if delivery is immediate. */
  readonly delivered?: () => Promise<void>;
}
