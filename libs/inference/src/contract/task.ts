import type { WireError } from '#common';
import type { EngineStats } from './engine-stats.js';

/*
 * Work that is not a stream of tokens: vectors, pixels and samples in and out. What `input`, the parts and `output`
 * are is agreed between a family and the slice that asks it; big arrays are typed arrays, since everything crosses to
 * the host by structured clone.
 */

export interface TaskRequest<Input extends object = object> {
  id: string;
  /** What the family shall do, in its own words: `embed`, `upscale`, `speak`… */
  task: string;
  input: Input;
}

export type TaskEvent =
  /** A piece of the result, in order. */
  | { type: 'task-part'; part: object }
  /** How much is done, 0 to 1. */
  | { type: 'task-progress'; fraction: number }
  /** Last event of a task that ran to its end or was cancelled; a cancelled one may have no output. */
  | { type: 'task-finished'; cancelled: boolean; output: object | null }
  /** Last event of a task that failed. */
  | { type: 'failed'; error: WireError; usage: null };

/** Runs tasks on one loaded model. `submit` never throws: a bad task answers `failed`. */
export interface TaskEngine {
  /** Present where the next task begins when the one before has ended, in the order of `submit`. */
  readonly oneAtATime?: true;
  submit(request: TaskRequest): void;
  /** `task-finished` with `cancelled: true` follows between two runs of the model. Unknown ids are ignored. */
  cancel(id: string): void;
  stats(): EngineStats;
  close(): Promise<void>;
}
