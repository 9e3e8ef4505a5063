import type {
  RunEvent,
  RunOptions,
  RunResult,
  TaskOptions,
  TaskRequest,
  TaskResult,
  TaskRunner,
  TextGenerationRequest,
  TextGenerationRunner,
} from '#inference/host';
import type { ModelTimings } from './model-timings.js';

/** A host whose texts are timed: to the first token, and from token to token. */
export class TimedRunner implements TextGenerationRunner, TaskRunner {
  constructor(
    private readonly runner: TextGenerationRunner & TaskRunner,
    private readonly timings: ModelTimings,
  ) {}

  async run(request: TextGenerationRequest, options: RunOptions): Promise<RunResult> {
    const watch = new TokenWatch(this.timings);
    const { onRestart } = options;
    const result = await this.runner.run(request, {
      ...options,
      onEvents: (events) => {
        watch.see(events);
        options.onEvents(events);
      },
      ...(onRestart && {
        onRestart: () => {
          watch.startAgain();
          onRestart();
        },
      }),
    });
    if (!result.cancelled) watch.end(result.usage.completionTokens / request.n);
    return result;
  }

  runTask(request: TaskRequest, options: TaskOptions): Promise<TaskResult> {
    return this.runner.runTask(request, options);
  }
}

/** The times of one text. */
class TokenWatch {
  private readonly startedAt = performance.now();
  private firstAt: number | null = null;
  private lastAt = 0;

  constructor(private readonly timings: ModelTimings) {}

  /** The events of one step: all choices share it. */
  see(events: readonly RunEvent[]): void {
    let tokens = 0;
    for (const event of events) if (event.type === 'text-delta') tokens = Math.max(tokens, event.tokens, 1);
    if (tokens === 0) return;
    const now = performance.now();
    // A delta that had to wait for the rest of its character stands for several tokens.
    if (this.firstAt === null) this.firstAt = now;
    else this.timings.interToken.add((now - this.lastAt) / tokens / 1_000);
    this.lastAt = now;
  }

  /** Another host begins anew; the caller has been waiting all the same. */
  startAgain(): void {
    this.firstAt = null;
  }

  end(tokens: number): void {
    const { firstToken, perOutputToken } = this.timings;
    if (this.firstAt === null) return;
    firstToken.add((this.firstAt - this.startedAt) / 1_000);
    if (tokens > 1) perOutputToken.add((this.lastAt - this.firstAt) / (tokens - 1) / 1_000);
  }
}
