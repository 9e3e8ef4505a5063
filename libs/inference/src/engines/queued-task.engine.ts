import { PlatformError, Histogram } from '#common';
import { asRunFailure } from './device-failure.js';
import type { EngineSink } from '../contract/engine.js';
import { type EngineStats, stepBounds } from '../contract/engine-stats.js';
import type { TaskEngine, TaskRequest } from '../contract/task.js';

/** Functions available to a handler. */
export interface TaskContext {
  /** Delivers a part of the result; from then on the task cannot be retried on another host. */
  part(part: object): void;
  /** 0 to 1. */
  progress(fraction: number): void;
  /**
   * Yields to the event loop so that cancels and heartbeats are processed; call it between two runs of the model.
   * Rejects if the task was cancelled; handlers must not catch that error.
   */
  yieldToEventLoop(): Promise<void>;
  /** Runs the model and measures the time. */
  measure<Result>(run: () => Promise<Result>): Promise<Result>;
}

/** Handles one kind of task. Resolves with its output; a `PlatformError` is passed to the caller unchanged. */
export type TaskHandler = (input: never, context: TaskContext) => Promise<object>;

export interface QueuedTaskEngineOptions {
  /** Keyed by task name. */
  handlers: Readonly<Record<string, TaskHandler>>;
  sink: EngineSink;
  /** Releases the sessions. */
  onClose?: () => Promise<void>;
}

class TaskCancelled extends Error {}

/**
 * Runs tasks one after another, because a session computes one thing at a time and memory is that of one task. The next
 * task starts after the last result has been delivered: a run blocks the event loop, and unsent messages would wait for
 * its end.
 */
export class QueuedTaskEngine implements TaskEngine {
  readonly oneAtATime = true;
  private readonly waiting: TaskRequest[] = [];
  private readonly cancelled = new Set<string>();
  private current: TaskRequest | null = null;
  private isClosed = false;
  private idle: Promise<void> = Promise.resolve();
  private steps = 0;
  private runMs = 0;
  private readonly stepSeconds = new Histogram(stepBounds);

  constructor(private readonly options: QueuedTaskEngineOptions) {}

  submit(request: TaskRequest): void {
    if (this.isClosed) return this.fail(request.id, new PlatformError('MODEL_OFFLINE', 'The model was unloaded.'));
    this.waiting.push(request);
    if (this.current === null) this.idle = this.work();
  }

  cancel(id: string): void {
    const position = this.waiting.findIndex((request) => request.id === id);
    if (position >= 0) {
      this.waiting.splice(position, 1);
      this.options.sink([[id, { type: 'task-finished', cancelled: true, output: null }]]);
    } else if (this.current?.id === id) this.cancelled.add(id);
  }

  stats(): EngineStats {
    const running = this.current === null ? 0 : 1;
    return {
      slots: 1,
      running,
      waiting: this.waiting.length,
      stepsTotal: this.steps,
      runMsTotal: this.runMs,
      stepSeconds: this.stepSeconds.read(),
    };
  }

  /** Fails waiting and running tasks; resolves when the session is released. */
  async close(): Promise<void> {
    this.isClosed = true;
    const disconnected = new PlatformError('MODEL_OFFLINE', 'The model was unloaded.');
    for (const request of this.waiting.splice(0)) this.fail(request.id, disconnected);
    if (this.current !== null) this.cancelled.add(this.current.id);
    await this.idle;
    await this.options.onClose?.();
  }

  private async work(): Promise<void> {
    for (let request = this.waiting.shift(); request !== undefined; request = this.waiting.shift()) {
      this.current = request;
      await this.runOne(request);
      await this.options.sink.delivered?.();
      this.cancelled.delete(request.id);
    }
    this.current = null;
  }

  private async runOne({ id, task, input }: TaskRequest): Promise<void> {
    const handler = Object.hasOwn(this.options.handlers, task) ? this.options.handlers[task] : undefined;
    try {
      if (handler === undefined)
        throw new PlatformError('INVALID_MODEL', `This model does not support the task ${task}.`);
      const output = await handler(input as never, this.contextOf(id));
      this.options.sink([[id, { type: 'task-finished', cancelled: false, output }]]);
    } catch (error) {
      if (error instanceof TaskCancelled) this.endCancelled(id);
      else this.fail(id, error);
    }
  }

  private endCancelled(id: string): void {
    if (this.isClosed) return this.fail(id, new PlatformError('MODEL_OFFLINE', 'The model was unloaded.'));
    this.options.sink([[id, { type: 'task-finished', cancelled: true, output: null }]]);
  }

  private contextOf(id: string): TaskContext {
    const { sink } = this.options;
    return {
      part: (part) => sink([[id, { type: 'task-part', part }]]),
      progress: (fraction) => sink([[id, { type: 'task-progress', fraction }]]),
      yieldToEventLoop: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        if (this.cancelled.has(id)) throw new TaskCancelled();
      },
      measure: async (run) => {
        const startedAt = performance.now();
        try {
          return await run();
        } finally {
          const ms = performance.now() - startedAt;
          this.steps++;
          this.runMs += ms;
          this.stepSeconds.add(ms / 1_000);
        }
      },
    };
  }

  private fail(id: string, error: unknown): void {
    this.options.sink([[id, { type: 'failed', error: asRunFailure(error).toWire(), usage: null }]]);
  }
}
