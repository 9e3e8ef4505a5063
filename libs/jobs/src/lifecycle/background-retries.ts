import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, systemClock } from '#common';

/** `progressed` means not done, but worth another attempt at once. */
export type AttemptResult = 'done' | 'progressed' | 'failed';

/** Work on one request that is retried until it is done or its deadline has passed. */
export interface RetryTask {
  requestId: string;
  /** A time on the monotonic clock. */
  untilMs: number;
}

export interface BackgroundRetriesOptions<Task extends RetryTask> {
  /** Must not reject. */
  attempt: (task: Task) => Promise<AttemptResult>;
  /** Called for a task whose deadline has passed, and for one that found no room. */
  giveUp: (task: Task) => void;
  /** Wait after so many failed rounds in a row, in ms. */
  pauseMs: (failures: number) => number;
  /** The tasks of the next round, which are attempted at once; default all. */
  next?: (tasks: Task[]) => Task[];
  maxTasks: number;
  clock?: Clock;
  pause?: (milliseconds: number) => Promise<void>;
}

const idle = (milliseconds: number) => sleep(milliseconds, undefined, { ref: false });

/** Retries tasks in rounds, in memory: with this process, its tasks are gone and are left to the sweeps. */
export class BackgroundRetries<Task extends RetryTask> {
  readonly clock: Clock;
  /** Does not keep the process alive. */
  readonly pause: (milliseconds: number) => Promise<void>;
  private readonly tasks = new Map<string, Task>();
  private isRunning = false;

  constructor(private readonly options: BackgroundRetriesOptions<Task>) {
    this.clock = options.clock ?? systemClock;
    this.pause = options.pause ?? idle;
  }

  /** Returns at once. Replaces an earlier task of the same request. */
  add(task: Task): void {
    const { giveUp, maxTasks } = this.options;
    if (this.tasks.size >= maxTasks) return giveUp(task);
    this.tasks.set(task.requestId, task);
    if (!this.isRunning) void this.run();
  }

  private async run(): Promise<void> {
    const { next, pauseMs } = this.options;
    this.isRunning = true;
    for (let failures = 0; this.tasks.size > 0;) {
      const tasks = [...this.tasks.values()];
      const results = await Promise.all((next?.(tasks) ?? tasks).map((task) => this.attempt(task)));
      failures = results.includes('failed') ? failures + 1 : 0;
      if (failures > 0) await this.pause(pauseMs(failures));
    }
    this.isRunning = false;
  }

  private async attempt(task: Task): Promise<AttemptResult> {
    const result = await this.options.attempt(task);
    // Another task of the request may have been added in the meantime, for instance by the attempt itself; it replaces
    // this one.
    if (this.tasks.get(task.requestId) !== task) return result;
    this.tasks.delete(task.requestId);
    if (result === 'done') return result;
    if (this.clock.monotonicMs() >= task.untilMs) this.options.giveUp(task);
    // Goes to the end of the list, behind the others.
    else this.tasks.set(task.requestId, task);
    return result;
  }
}
