import type { TaskRequest } from '../contract/task.js';

export interface TaskOptions {
  /** Aborting ends the task between two runs of the model; it then resolves with `cancelled: true`. */
  signal: AbortSignal;
  /** True if parts may be repeated: the task is then retried once on the next host, whatever it has delivered. */
  repeatable?: boolean;
  /** Parts of the result, in order. Called synchronously; must not throw. */
  onPart?: (part: object) => void;
  /** 0 to 1. Called synchronously; must not throw. */
  onProgress?: (fraction: number) => void;
}

export interface TaskResult {
  cancelled: boolean;
  /** Null only for a cancelled task. */
  output: object | null;
}

/**
 * Runs tasks. If a host dies, a task that has delivered nothing or is repeatable is retried once on the next host.
 * Rejects with a `PlatformError`.
 */
export interface TaskRunner {
  runTask(request: TaskRequest, options: TaskOptions): Promise<TaskResult>;
}
