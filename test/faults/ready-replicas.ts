import type { Platform } from '#test/platform';
import { askWhole, type WholeResponse } from './chat-caller.js';
import { pause } from './fault-scene.js';

/** Interval of readiness probes per replica, in ms; orchestrators use longer ones. */
const checkIntervalMs = 200;

/** A request routed to replicas that were ready at the last probe. */
export interface BalancedCall {
  /** Null when the connection broke before a response. */
  answer: WholeResponse | null;
  /** 503 responses of a replica that had just begun to stop; each was retried elsewhere. */
  rejectedWhileStopping: number;
}

/** Acts as a Service in front of the API: distributes new requests over the replicas that report ready. */
export class ReadyReplicas {
  private ready: number[];
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
    for (let rejectedWhileStopping = 0; ; rejectedWhileStopping += 1) {
      const replica = this.ready[this.next++ % Math.max(1, this.ready.length)];
      const model = this.models[index % this.models.length];
      const options = {
        directives: 'tokens=3',
        text: `New ${index}`,
        model,
        ...(replica !== undefined && { replica }),
      };
      const answer = await askWhole(this.platform, options).catch(() => null);
      if (answer === null || answer.status !== 503 || rejectedWhileStopping === 20)
        return { answer, rejectedWhileStopping };
      await pause(100);
    }
  }
}
