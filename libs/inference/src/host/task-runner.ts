import type { TaskRequest } from '../contract/task.js';

export interface TaskOptions {
  /** Aborting ends the task between two runs of the model; it then resolves with `cancelled: true`. */
  signal: AbortSignal;
  /**
   * True where it does no harm when parts come again: the task then runs once more on the next host, whatever it has
   * delivered.
   */
  repeatable?: boolean;
  /** Pieces of the result, in order. Called synchronously; must not throw. */
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
 * Where a task is run. A host that dies takes no task along that has delivered nothing, or is repeatable: it runs once more on the
 * next.
 * Rejects with a `PlatformError`.
 */
export interface TaskRunner {
  runTask(request: TaskRequest, options: TaskOptions): Promise<TaskResult>;
}
