import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Interface to the process; tests replace it. */
export interface CollectedProcess {
  /** JavaScript objects and the buffers that they hold, in bytes. */
  usedBytes(): number;
  /** Processor time over time since the last call. Time that a busy machine makes the process wait is not its own. */
  busyShare(): number;
  collect(): void;
}

/** Pause between two looks, in ms. */
const everyMs = 5_000;
/** A busier process collects its garbage by itself, and a collection would delay its requests. */
const maxBusyShare = 0.1;
/** Less garbage is not worth a collection, in bytes. */
const minGarbageBytes = 24 * 2 ** 20;
/** Most looks from a collection that freed nothing to the next one: a minute. */
const maxPausedLooks = 12;

/**
 * Collects garbage in an idle process. V8 collects when a program allocates, so a process that is no longer asked for
 * anything would keep the bodies of its last requests, hundreds of megabytes, until it is asked again.
 */
export class IdleCollector {
  private timer: NodeJS.Timeout | null = null;
  /** Least memory in use so far. */
  private leastBytes = Infinity;
  /** What the last collection left. It may be in use, or have become garbage since: the body of a slow request. */
  private leftBytes = 0;
  private pausedLooks = 0;
  private nextPause = 1;

  constructor(private readonly process: CollectedProcess = thisProcess()) {}

  start(): void {
    this.timer = setInterval(() => this.look(), everyMs).unref();
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  /** Collects if the process is idle and there may be garbage. */
  look(): void {
    const usedBytes = this.process.usedBytes();
    const isIdle = this.process.busyShare() <= maxBusyShare;
    this.leastBytes = Math.min(this.leastBytes, usedBytes);
    if (Math.abs(usedBytes - this.leftBytes) >= minGarbageBytes) this.retryAtOnce();
    if (!isIdle || usedBytes < this.leastBytes + minGarbageBytes) return;
    if (this.pausedLooks > 0) this.pausedLooks -= 1;
    else this.collect(usedBytes);
  }

  private collect(usedBytes: number): void {
    this.process.collect();
    this.leftBytes = this.process.usedBytes();
    if (usedBytes - this.leftBytes >= minGarbageBytes) return this.retryAtOnce();
    this.pausedLooks = this.nextPause;
    this.nextPause = Math.min(2 * this.nextPause, maxPausedLooks);
  }

  private retryAtOnce(): void {
    this.pausedLooks = 0;
    this.nextPause = 1;
  }
}

/** Node itself, with its garbage collector exposed. */
export function thisProcess(): CollectedProcess {
  // Takes effect in contexts created from then on.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let last = { cpu: process.cpuUsage(), atMs: performance.now() };
  return {
    usedBytes: () => {
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    },
    busyShare: () => {
      const atMs = performance.now();
      const { user, system } = process.cpuUsage(last.cpu);
      const share = (user + system) / 1_000 / (atMs - last.atMs);
      last = { cpu: process.cpuUsage(), atMs };
      return share;
    },
    collect,
  };
}
