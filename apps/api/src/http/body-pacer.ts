import type { Readable } from 'node:stream';
import { type Clock, systemClock } from '#common';
import { freeBytes } from '#platform/memory';

/** What one turn of the event loop may read of all bodies together: one part of a fast connection. */
const turnBytes = 64 * 1024;
/** What one caller may send as fast as it can, and how fast it may go on: 64 MB/s, half of a fast network. */
const caller = { burstBytes: 8 * 1024 * 1024, bytesPerMs: 64 * 1024 };
/** What is discarded of all refused bodies together: 32 MB/s. */
const discarded = { bytes: 64 * 1024, everyMs: 2 };

/** A paused body; its next part is assumed to be as large as its last one. */
interface Paused {
  payload: Readable;
  bytes: number;
}

/** Paused bodies in the order of their parts; a step resumes as many as its bytes allow, at least one. */
class PausedBodies {
  private waiting: Paused[] = [];
  private isScheduled = false;

  constructor(
    private readonly stepBytes: number,
    private readonly schedule: (step: () => void) => void,
  ) {}

  add(paused: Paused): void {
    paused.payload.pause();
    this.waiting.push(paused);
    if (!this.isScheduled) this.scheduleStep();
  }

  private scheduleStep(): void {
    this.isScheduled = true;
    this.schedule(() => this.step());
  }

  private step(): void {
    let bytes = 0;
    let count = 0;
    while (count < this.waiting.length && (count === 0 || bytes < this.stepBytes)) {
      bytes += this.waiting[count]?.bytes ?? 0;
      count += 1;
    }
    this.isScheduled = false;
    const resumed = this.waiting.splice(0, count);
    if (this.waiting.length > 0) this.scheduleStep();
    for (const { payload } of resumed) payload.resume();
  }
}

/** The speed of one caller, over all its bodies. */
class CallerSpeed {
  private leftBytes = caller.burstBytes;
  private atMs: number;

  constructor(private readonly clock: Clock) {
    this.atMs = clock.monotonicMs();
  }

  /** Returns how long the caller has to wait after these bytes, in ms. */
  after(bytes: number): number {
    this.refill();
    this.leftBytes -= bytes;
    return Math.max(0, Math.ceil(-this.leftBytes / caller.bytesPerMs));
  }

  /** Has sent nothing for so long that nothing needs to be remembered of it. */
  isIdle(): boolean {
    this.refill();
    return this.leftBytes === caller.burstBytes;
  }

  private refill(): void {
    const nowMs = this.clock.monotonicMs();
    this.leftBytes = Math.min(caller.burstBytes, this.leftBytes + (nowMs - this.atMs) * caller.bytesPerMs);
    this.atMs = nowMs;
  }
}

/**
 * Decides when the next part of each body is read. Connections that send as fast as they can would else be read for
 * megabytes, one after another, before anybody is served: all bodies together get one large part per turn of the event
 * loop, and those of one caller a limited number of bytes per second. Of refused bodies even less is read.
 */
export class BodyPacer {
  private readonly speeds = new Map<string, CallerSpeed>();
  private readonly wanted = new PausedBodies(turnBytes, (step) => void setImmediate(step));
  private readonly refused = new PausedBodies(
    discarded.bytes,
    (step) => void setTimeout(step, discarded.everyMs).unref(),
  );

  constructor(private readonly clock: Clock = systemClock) {}

  /** Pauses the body of a caller after a part; it is resumed when it may be read on. */
  pause(payload: Readable, part: Buffer, callerId: string): void {
    const paused = { payload, bytes: part.length };
    payload.pause();
    const waitMs = this.speedOf(callerId).after(part.length);
    if (waitMs === 0) this.wanted.add(paused);
    else setTimeout(() => this.wanted.add(paused), waitMs).unref();
  }

  private speedOf(callerId: string): CallerSpeed {
    const known = this.speeds.get(callerId);
    if (known !== undefined) return known;
    for (const [other, speed] of this.speeds) if (speed.isIdle()) this.speeds.delete(other);
    const speed = new CallerSpeed(this.clock);
    this.speeds.set(callerId, speed);
    return speed;
  }

  /**
   * Reads the rest of a body and throws it away. Closing the connection at once would reset it before the client reads
   * the response.
   */
  discard(payload: Readable): void {
    if (payload.readableEnded || payload.destroyed) return;
    const onData = (part: Buffer): void => {
      this.refused.add({ payload, bytes: part.length });
      freeBytes(part);
    };
    payload.on('data', onData).resume();
  }
}
