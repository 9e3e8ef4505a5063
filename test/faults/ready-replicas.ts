import type { Platform } from '#test/platform';
import { askWhole, type WholeResponse } from './chat-caller.js';
import { pause } from './fault-scene.js';

/** How often the readiness of each replica is asked for, in ms; orchestrators take longer. */
const checkIntervalMs = 200;

/** A call by way of the replicas that were ready at the last look. */
export interface BalancedCall {
  /** Null when the connection broke before an answer came: what a caller calls a reset. */
  answer: WholeResponse | null;
  /** Answers 503 of a replica that had just begun to stop; each was asked again elsewhere. */
  turnedAway: number;
}

/** Stands before the api as a Service does: new requests go in turn to the replicas that say they are ready. */
export class ReadyReplicas {
  private ready: number[];
  private next = 0;
  private looking: NodeJS.Timeout | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly calls: Promise<BalancedCall>[] = [];

  constructor(private readonly platform: Platform) {
    this.ready = platform.origins.map((_, index) => index);
  }

  /** Sends requests at a steady pace until `stop`. */
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
    for (let turnedAway = 0; ; turnedAway += 1) {
      const replica = this.ready[this.next++ % Math.max(1, this.ready.length)];
      const options = { directives: 'tokens=3', text: `New ${index}`, ...(replica !== undefined && { replica }) };
      const answer = await askWhole(this.platform, options).catch(() => null);
      if (answer === null || answer.status !== 503 || turnedAway === 20) return { answer, turnedAway };
      await pause(100);
    }
  }
}
