import { PlatformError, type TokenUsage } from '#common';
import type { TextGenerationEvent, TextGenerationRequest } from '../engines/text-generation.js';
import type { RunEvent, RunOptions, RunResult } from './text-generation-runner.js';

/** What to do with a run whose host died. */
export type AfterDeath = 'run-again' | 'ended';

/** One request on its way through a host: passes on its events and ends once, whatever the host does. */
export class HostRun {
  readonly result: Promise<RunResult>;
  private resolve: (result: RunResult) => void = () => undefined;
  private reject: (error: PlatformError) => void = () => undefined;
  private ended = false;
  private promptTold = false;
  private sentText = false;
  private deaths = 0;
  private readonly usage: TokenUsage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 };
  private waitTimer: NodeJS.Timeout | null = null;

  constructor(
    readonly request: TextGenerationRequest,
    private readonly options: RunOptions,
    private readonly onEnd: () => void,
  ) {
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Passes on the events of one step. */
  accept(events: TextGenerationEvent[]): void {
    const passed: RunEvent[] = [];
    let last: Extract<TextGenerationEvent, { type: 'finished' | 'failed' }> | null = null;
    for (const event of events) {
      if (event.type === 'finished' || event.type === 'failed') last = event;
      else if (this.isNews(event)) passed.push(event);
    }
    if (passed.length > 0 && !this.ended) this.options.onEvents(passed);
    if (last?.type === 'finished') this.finish({ cancelled: last.cancelled, usage: last.usage });
    // A host that lost its device dies of it: `hostDied` decides whether the run gets another try.
    else if (last?.type === 'failed' && last.error.code !== 'DEVICE_LOST')
      this.fail(PlatformError.fromWire(last.error));
  }

  /** A run whose caller has seen text cannot be replayed, and a request that killed two hosts is poison. */
  hostDied(): AfterDeath {
    this.deaths++;
    if (this.options.signal.aborted) this.cancelled();
    else if (this.sentText || this.deaths > 1) {
      this.fail(new PlatformError('DEVICE_LOST', 'The model stopped while it worked on this request. Try again.'));
    }
    return this.ended ? 'ended' : 'run-again';
  }

  /** Ends as cancelled with what was generated so far; for runs that no host holds. */
  cancelled(): void {
    this.finish({ cancelled: true, usage: { ...this.usage } });
  }

  fail(error: PlatformError): void {
    if (this.end()) this.reject(error);
  }

  /** Bounds the time without a host. */
  waitAtMost(ms: number): void {
    this.waitTimer ??= setTimeout(() => {
      this.fail(new PlatformError('MODEL_OFFLINE', 'The model is being loaded again. Try again later.'));
    }, ms);
  }

  submitted(): void {
    if (this.waitTimer !== null) clearTimeout(this.waitTimer);
    this.waitTimer = null;
  }

  private isNews(event: RunEvent): boolean {
    if (event.type === 'prompt-ready') {
      // A second host computes the prompt again; the caller has been told.
      if (this.promptTold) return false;
      this.promptTold = true;
      this.usage.promptTokens = event.promptTokens;
      this.usage.cachedTokens = event.cachedTokens;
    } else {
      this.sentText = true;
      if (event.type === 'text-delta') this.usage.completionTokens += event.tokens;
    }
    return true;
  }

  private finish(result: RunResult): void {
    if (this.end()) this.resolve(result);
  }

  private end(): boolean {
    if (this.ended) return false;
    this.ended = true;
    this.submitted();
    this.onEnd();
    return true;
  }
}
