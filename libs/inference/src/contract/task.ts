import type { WireError } from '#common';
import type { EngineStats } from './engine-stats.js';

/*
 * Work that is not a stream of tokens: vectors, pixels and samples in and out. Family and calling slice agree on
 * `input`, parts and `output`. Large arrays are typed arrays, because everything crosses to the host by structured
 * clone.
 */

export interface TaskRequest<Input extends object = object> {
  id: string;
  /** Name of the task: `embed`, `upscale`, `speak`… */
  task: string;
  input: Input;
}

export type TaskEvent =
  /** A part of the result, in order. */
  | { type: 'task-part'; part: object }
  /** Progress, 0 to 1. */
  | { type: 'task-progress'; fraction: number }
  /** Last event of a completed or cancelled task; a cancelled one may have no output. */
  | { type: 'task-finished'; cancelled: boolean; output: object | null }
  /** Last event of a task that failed. */
  | { type: 'failed'; error: WireError; usage: null };

/** Runs tasks on one loaded model. `submit` never throws: an invalid task fails with a `failed` event. */
export interface TaskEngine {
  /** True if tasks run one at a time in the order of `submit`. */
  readonly oneAtATime?: true;
  submit(request: TaskRequest): void;
  /** `task-finished` with `cancelled: true` follows between two runs of the model. Unknown ids are ignored. */
  cancel(id: string): void;
  stats(): EngineStats;
  close(): Promise<void>;
}
