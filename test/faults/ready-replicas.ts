import type { Platform } from '#test/platform';
import { askWhole, type ChatOptions, type WholeResponse } from './chat-caller.js';
import { eventually, pause } from './fault-scene.js';

/** Interval of readiness probes per replica, in ms; orchestrators use longer ones. */
const checkIntervalMs = 200;

/** A request routed to replicas that were ready at the last probe. */
export interface BalancedCall {
  /** Null when the connection broke before a response. */
  answer: WholeResponse | null;
  /** Why it broke. */
  error: string | null;
}

/** Maximum number of attempts of one request. */
const maxAttempts = 20;

/**
 * Acts as a proxy in front of the API: distributes new requests over the replicas that report ready. It sends one again
 * only if no replica has begun it, which is safe for any request: if the connection was refused (`proxy_next_upstream
 * error` of nginx, `retry-on conn-failure` of HAProxy), or if a replica that stops rejected it with 503. A connection
 * that breaks once the request was sent is a lost request.
 */
export class ReadyReplicas {
  private ready: number[];
  private readonly withdrawn = new Set<number>();
  private readonly open: number[];
  private next = 0;
  private looking: NodeJS.Timeout | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly calls: Promise<BalancedCall>[] = [];

  /** The requests ask these models in turn. */
  constructor(
    private readonly platform: Platform,
    private readonly models: readonly string[] = ['tiny-llama'],
  ) {
    this.ready = platform.origins.map((_, index) => index);
    this.open = this.ready.map(() => 0);
  }

  /** Sends requests at a fixed rate until `stop`. */
  start(requestsPerSecond: number): void {
    this.looking = setInterval(() => void this.look(), checkIntervalMs);
    this.timer = setInterval(() => this.calls.push(this.call(this.calls.length)), 1_000 / requestsPerSecond);
  }

  async stop(): Promise<BalancedCall[]> {
    clearInterval(this.timer);
    const calls = await Promise.all(this.calls);
    clearInterval(this.looking);
    return calls;
  }

  /** Sends the replica no more requests, as to a terminating pod; resolves when those that it has are answered. */
  async withdraw(replica: number): Promise<void> {
    this.withdrawn.add(replica);
    await eventually(`replica ${replica} has no requests`, () => Promise.resolve(this.open[replica] === 0));
  }

  /** Ends `withdraw`. */
  readmit(replica: number): void {
    this.withdrawn.delete(replica);
  }

  private async look(): Promise<void> {
    const states = await Promise.all(
      this.platform.origins.map(async (origin, index) => {
        const isReady = await fetch(`${origin}/health/ready`).then(
          ({ ok }) => ok,
          () => false,
        );
        return isReady ? [index] : [];
      }),
    );
    this.ready = states.flat();
  }

  private async call(index: number): Promise<BalancedCall> {
    const model = this.models[index % this.models.length];
    for (let attempt = 1; ; attempt += 1) {
      const usable = this.ready.filter((replica) => !this.withdrawn.has(replica));
      const replica = usable[this.next++ % Math.max(1, usable.length)] ?? 0;
      const { answer, error } = await this.ask(replica, { directives: 'tokens=3', text: `New ${index}`, model });
      const wasBegun = answer === null ? error?.code !== 'ECONNREFUSED' : answer.status !== 503;
      if (wasBegun || attempt === maxAttempts)
        return { answer, error: error && `replica ${replica}: ${error.message}` };
      await pause(100);
    }
  }

  private async ask(replica: number, options: ChatOptions) {
    this.open[replica] = (this.open[replica] ?? 0) + 1;
    try {
      return { answer: await askWhole(this.platform, { ...options, replica }), error: null };
    } catch (failure) {
      const { cause = failure } = failure as Error;
      return { answer: null, error: cause as NodeJS.ErrnoException };
    } finally {
      this.open[replica] = (this.open[replica] ?? 0) - 1;
    }
  }
}
