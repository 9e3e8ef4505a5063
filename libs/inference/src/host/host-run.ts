import { PlatformError } from '#common';
import type { EngineEvent, EngineRequest } from '../contract/engine.js';

/** What happens to a run whose host died. */
export type AfterDeath = 'run-again' | 'ended';

/** A request in a host: forwards its events and ends exactly once, whatever the host does. */
export abstract class HostRun<Result = unknown> {
  readonly result: Promise<Result>;
  private resolve: (result: Result) => void = () => undefined;
  private reject: (error: PlatformError) => void = () => undefined;
  private isEnded = false;
  private deaths = 0;
  private waitTimer: NodeJS.Timeout | null = null;

  constructor(
    readonly request: EngineRequest,
    private readonly signal: AbortSignal,
    private readonly onEnd: () => void,
  ) {
    this.result = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Forwards the events of one step. */
  abstract accept(events: EngineEvent[]): void;

  /** True once a part of the result was delivered; a retry would repeat it. */
  protected abstract get hasDelivered(): boolean;

  /** Returns the result of a run that was cancelled while it was in no host. */
  protected abstract cancelledResult(): Result;

  /** Revokes what was delivered; returns false if that is not possible. */
  protected cancelDelivery(): boolean {
    return false;
  }

  /**
   * Decides about a retry. A run with delivered results is not replayed, and a request that killed two hosts fails. A
   * request that had not started did not cause the death.
   */
  hostDied({ hadStarted }: { hadStarted: boolean }): AfterDeath {
    if (hadStarted) this.deaths++;
    if (this.signal.aborted) this.cancelled();
    else if (this.deaths > 1 || (this.hasDelivered && !this.cancelDelivery())) {
      this.fail(new PlatformError('DEVICE_LOST', 'The model stopped while it worked on this request. Try again.'));
    }
    return this.isEnded ? 'ended' : 'run-again';
  }

  /** Ends a run whose host was killed for its memory: a retry would need as much. */
  exceededMemory(): void {
    const message =
      'This request needs more memory than is free for the model. Ask for less: smaller or fewer images, or a shorter input.';
    this.fail(new PlatformError('INFERENCE_FAILED', message));
  }

  /** Ends as cancelled with the result so far; for runs that are in no host. */
  cancelled(): void {
    this.finish(this.cancelledResult());
  }

  fail(error: PlatformError): void {
    if (this.end()) this.reject(error);
  }

  /** Limits the time without a host. */
  failAfter(ms: number): void {
    this.waitTimer ??= setTimeout(() => {
      this.fail(new PlatformError('MODEL_OFFLINE', 'The model is being loaded again. Try again later.'));
    }, ms);
  }

  submitted(): void {
    if (this.waitTimer !== null) clearTimeout(this.waitTimer);
    this.waitTimer = null;
  }

  protected get ended(): boolean {
    return this.isEnded;
  }

  protected finish(result: Result): void {
    if (this.end()) this.resolve(result);
  }

  /** Ignores `DEVICE_LOST`: the host exits, and `hostDied` decides about a retry. */
  protected failedInHost({ error }: Extract<EngineEvent, { type: 'failed' }>): void {
    if (error.code !== 'DEVICE_LOST') this.fail(PlatformError.fromWire(error));
  }

  private end(): boolean {
    if (this.isEnded) return false;
    this.isEnded = true;
    this.submitted();
    this.onEnd();
    return true;
  }
}
