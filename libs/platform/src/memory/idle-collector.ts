import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Interface to the process; tests replace it. */
export interface CollectedProcess {
  /** JavaScript objects and the buffers that they hold, in bytes. */
  usedBytes(): number;
  /** Share of the time since the last call in which the event loop was busy, 0 to 1. */
  busyShare(): number;
  collect(): void;
}

/** Pause between two looks, in ms. */
const everyMs = 5_000;
/** A busier process collects its garbage by itself, and a collection would delay its requests. */
const maxBusyShare = 0.1;
/** Less garbage is not worth a collection, in bytes. */
const minGarbageBytes = 24 * 2 ** 20;

/**
 * Collects garbage in an idle process. V8 collects when a program allocates, so a process that is no longer asked for
 * anything would keep the bodies of its last requests, hundreds of megabytes, until it is asked again.
 */
export class IdleCollector {
  private timer: NodeJS.Timeout | null = null;
  /** Memory in use after the last collection, or less. */
  private leastBytes = Infinity;

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
    if (!isIdle || usedBytes < this.leastBytes + minGarbageBytes) return;
    this.process.collect();
    this.leastBytes = this.process.usedBytes();
  }
}

/** Node itself, with its garbage collector exposed. */
export function thisProcess(): CollectedProcess {
  // Takes effect in contexts created from then on.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let last: EventLoopUtilization | undefined;
  return {
    usedBytes: () => {
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    },
    busyShare: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
    collect,
  };
}
