import type { JSX } from 'preact';
import type { Task } from '../api/use-task.js';
import { formatDuration } from '../format/time.js';
import { Failure } from './states.js';

interface TaskStatusProps {
  task: Task<unknown>;
  /** What the button does, such as `Generate`. */
  action: string;
  /** What it does at the moment. */
  running?: string;
  canRun: boolean;
}

/** The buttons of a task, and how long it runs or why it failed. */
export function TaskStatus({ task, action, running = 'Running', canRun }: TaskStatusProps): JSX.Element {
  const { isBusy, elapsedMs, error, result } = task;
  return (
    <>
      <div class="buttons">
        <button type="submit" class="primary" disabled={isBusy || !canRun}>
          {action}
        </button>
        <button type="button" disabled={!isBusy} onClick={task.stop}>
          Stop
        </button>
        <span role="status">
          {isBusy && (
            <>
              <span class="spinner" aria-hidden="true" /> {running}
            </>
          )}
          {!isBusy && result !== null && error === null && 'Done'}
        </span>
        {elapsedMs > 0 && <span class="weak">{formatDuration(elapsedMs)}</span>}
      </div>
      {error !== null && <Failure error={error} />}
    </>
  );
}
