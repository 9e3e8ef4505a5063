import { setMaxListeners } from 'node:events';
import { Server } from 'node:net';
import { setImmediate as eventsHandled, setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '#platform/injection';

/** How often open connections are counted, in ms. */
const countIntervalMs = 20;

export interface DrainTimes {
  /** How long clients get to use each open connection once more, and to learn that it closes, in ms. */
  noticeMs?: number;
  /** The same for connections that are open when the port closes; `noticeMs` by default. */
  finalNoticeMs?: number;
  /** How long streams get to write their last frame after the grace period, in ms. */
  finalFrameMs?: number;
}

/**
 * Tracks requests in flight and ends them when the process is told to stop. A client may send its next request on an open
 * connection at any moment, and cannot repeat it safely when that connection breaks. So each one is announced to close
 * before it does.
 */
@Injectable()
export class Drain {
  private active = 0;
  private announced = false;
  private stopping = false;
  private server: Server | null = null;
  private idle: (() => void) | undefined;
  private readonly giveUp = new AbortController();

  constructor() {
    // Every open response adds a listener; Node would warn of a leak from the eleventh on.
    setMaxListeners(0, this.giveUp.signal);
  }

  /** True after the stop signal: responses say `Connection: close`. */
  get closing(): boolean {
    return this.announced;
  }

  /** True once new requests are rejected. */
  get draining(): boolean {
    return this.stopping;
  }

  /** Aborts when the grace period is over; streams then end with an error frame. */
  get expired(): AbortSignal {
    return this.giveUp.signal;
  }

  /** The server whose connections `drain` waits for. */
  attach(server: Server): void {
    this.server = server;
  }

  enter(): void {
    this.active += 1;
  }

  leave(): void {
    this.active -= 1;
    if (this.active === 0) this.idle?.();
  }

  /**
   * Serves until no connection is open, for `noticeMs` at most, and rejects new requests from then on. Resolves when no
   * request is left, at the latest `finalFrameMs` after the grace period, and the port is closed.
   */
  async drain(graceMs: number, times: DrainTimes = {}): Promise<void> {
    const { noticeMs = 1_000, finalNoticeMs = noticeMs, finalFrameMs = 2_000 } = times;
    const startedAtMs = performance.now();
    this.announced = true;
    await this.connectionsEnd(Math.min(noticeMs, graceMs));
    this.stopping = true;
    if (!(await this.idleWithin(Math.ceil(startedAtMs + graceMs - performance.now())))) {
      this.giveUp.abort();
      await this.idleWithin(finalFrameMs);
    }
    await this.stopListening();
    // A client has just connected, or its stream began before the stop signal and announced nothing.
    await this.connectionsEnd(finalNoticeMs);
  }

  /** From then on, clients learn at once that they must connect elsewhere. Open connections stay. */
  private async stopListening(): Promise<void> {
    if (!this.server?.listening) return;
    // Closing a port resets the connections that nobody has accepted yet. This one is closed right after all were.
    await eventsHandled();
    // The method of `http.Server` would close idle connections, too.
    Server.prototype.close.call(this.server);
  }

  private async idleWithin(milliseconds: number): Promise<boolean> {
    if (this.active === 0) return true;
    return await new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), milliseconds);
      this.idle = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  private async connectionsEnd(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    while ((await this.countConnections()) > 0 && performance.now() < deadline) await sleep(countIntervalMs);
  }

  private async countConnections(): Promise<number> {
    const { server } = this;
    if (server === null) return 0;
    return await new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
  }
}
