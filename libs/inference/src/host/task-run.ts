import type { EngineEvent } from '../contract/engine.js';
import type { TaskEvent, TaskRequest } from '../contract/task.js';
import { HostRun } from './host-run.js';
import type { TaskOptions, TaskResult } from './task-runner.js';

/** A task run. It may be retried if no part of its result was delivered or its parts may be repeated. */
export class TaskRun extends HostRun<TaskResult> {
  private sentParts = false;

  constructor(
    request: TaskRequest,
    private readonly options: TaskOptions,
    onEnd: () => void,
  ) {
    super(request, options.signal, onEnd);
  }

  accept(events: EngineEvent[]): void {
    for (const event of events as TaskEvent[]) {
      if (this.ended) return;
      this.take(event);
    }
  }

  protected get hasDelivered(): boolean {
    return this.sentParts && this.options.repeatable !== true;
  }

  protected cancelledResult(): TaskResult {
    return { cancelled: true, output: null };
  }

  private take(event: TaskEvent): void {
    switch (event.type) {
      case 'task-part':
        this.sentParts = true;
        return this.options.onPart?.(event.part);
      case 'task-progress':
        return this.options.onProgress?.(event.fraction);
      case 'task-finished':
        return this.finish({ cancelled: event.cancelled, output: event.output });
      case 'failed':
        return this.failedInHost(event);
    }
  }
}
