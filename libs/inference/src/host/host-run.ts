import { PlatformError } from '#common';
import type { EngineEvent, EngineRequest } from '../contract/engine.js';

/** What to do with a run whose host died. */
export type AfterDeath = 'run-again' | 'ended';

/** One request on its way through a host: passes on its events and ends once, whatever the host does. */
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

  /** Passes on the events of one step. */
  abstract accept(events: EngineEvent[]): void;

  /** True once the caller holds a part of the result: from then on a second try would repeat it. */
  protected abstract get hasDelivered(): boolean;

  /** How a run ends that was cancelled while no host held it. */
  protected abstract cancelledResult(): Result;

  /** Takes back what was delivered, where that is possible; false where it is not. */
  protected cancelDelivery(): boolean {
    return false;
  }

  /**
   * A run whose caller has seen results cannot be replayed, and a request that killed two hosts is poison. One that had
   * not begun did not kill its host.
   */
  hostDied({ hadBegun }: { hadBegun: boolean }): AfterDeath {
    if (hadBegun) this.deaths++;
    if (this.signal.aborted) this.cancelled();
    else if (this.deaths > 1 || (this.hasDelivered && !this.cancelDelivery())) {
      this.fail(new PlatformError('DEVICE_LOST', 'The model stopped while it worked on this request. Try again.'));
    }
    return this.isEnded ? 'ended' : 'run-again';
  }

  /** Ends as cancelled with what there was so far; for runs that no host holds. */
  cancelled(): void {
    this.finish(this.cancelledResult());
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

  protected get ended(): boolean {
    return this.isEnded;
  }

  protected finish(result: Result): void {
    if (this.end()) this.resolve(result);
  }

  /** A host that lost its device dies of it: `hostDied` decides whether the run gets another try. */
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
