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

/** A host wrapper that records the time to the first token and between tokens. */
export class TimedRunner implements TextGenerationRunner, TaskRunner {
  constructor(
    private readonly runner: TextGenerationRunner & TaskRunner,
    private readonly timings: ModelTimings,
  ) {}

  async run(request: TextGenerationRequest, options: RunOptions): Promise<RunResult> {
    const watch = new TokenTimer(this.timings);
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

/** Timings of one text. */
class TokenTimer {
  private readonly startedAt = performance.now();
  private firstAt: number | null = null;
  private lastAt = 0;

  constructor(private readonly timings: ModelTimings) {}

  /** Events of one step, shared by all choices. */
  see(events: readonly RunEvent[]): void {
    let tokens = 0;
    for (const event of events) if (event.type === 'text-delta') tokens = Math.max(tokens, event.tokens, 1);
    if (tokens === 0) return;
    const now = performance.now();
    // A delta that waited for the rest of its character stands for several tokens.
    if (this.firstAt === null) this.firstAt = now;
    else this.timings.interToken.add((now - this.lastAt) / tokens / 1_000);
    this.lastAt = now;
  }

  /** A replacement host starts over, while the client's waiting time continues. */
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
