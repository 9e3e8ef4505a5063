import { PlatformError } from '#common';
import type { AnyEngineStats, EngineEvent } from '../contract/engine.js';
import type { TaskRequest } from '../contract/task.js';
import type { TextGenerationRequest } from '../contract/text-generation.js';
import type { HostLauncher, HostProcess } from './host-process.js';
import type { HostLoadOptions } from '../contract/engine-loader.js';
import type { HostMessage } from './host-protocol.js';
import type { HostRun } from './host-run.js';
import { TaskRun } from './task-run.js';
import type { TaskOptions, TaskResult, TaskRunner } from './task-runner.js';
import type { RunOptions, RunResult, TextGenerationRunner } from './text-generation-runner.js';
import { TextRun } from './text-run.js';

/** Life of a model host. `restarting` waits out the back-off; `gone` is final. */
export type HostState = 'loading' | 'ready' | 'restarting' | 'draining' | 'gone';

/** Bounds of a host's life, in ms. */
export interface HostTimings {
  /** A ready host that sends nothing for longer is killed. */
  silentAfterMs: number;
  /** A load that takes longer is given up. Creating a session blocks the child, so it sends no beats meanwhile. */
  loadTimeoutMs: number;
  /** How long a request waits for a host that is being restarted. */
  failoverWaitMs: number;
  /** Back-off between restarts: the first, then doubled up to the most; starts anew after `stableAfterMs` ready. */
  firstRestartMs: number;
  maxRestartMs: number;
  stableAfterMs: number;
  /** How long a drained host may take to leave by itself. */
  leaveWithinMs: number;
}

export const defaultHostTimings: HostTimings = {
  silentAfterMs: 15_000,
  loadTimeoutMs: 600_000,
  failoverWaitMs: 30_000,
  firstRestartMs: 200,
  maxRestartMs: 30_000,
  stableAfterMs: 60_000,
  leaveWithinMs: 3_000,
};

export interface HostSupervisorOptions {
  load: HostLoadOptions;
  launch: HostLauncher;
  timings?: Partial<HostTimings>;
  /** `traceparent` of the job that a run belongs to, by the id of the run. */
  traceOf?: (runId: string) => string | undefined;
}

/** A timer that comes later than this says that the worker stood still, and not its host. */
const stoodStillMs = 1_000;

/** How long a host may then take to be heard again, in ms; its beats come each second. */
const listenAgainMs = 5_000;

/** What a host last told about itself. */
export interface HostReport {
  provider: string;
  providerNote: string | null;
  slots: number;
  loadMs: number;
  stats: AnyEngineStats | null;
  residentBytes: number;
  loopLagMs: number;
}

export interface HostStateChange {
  state: HostState;
  /** Why, in words for the log; null where the state says it all. */
  reason: string | null;
}

/** A run of any kind, as far as its host is concerned. */
type OpenRun = Pick<HostRun, keyof HostRun>;

/**
 * The worker's side of one model host: keeps a child with the model running and routes requests to it. A child
 * that dies, or falls silent and is killed, takes along only what it worked on: requests that have delivered
 * nothing run again on its successor, once; the others fail with `DEVICE_LOST`. What only waited for its turn is not
 * blamed for the death.
 */
export class HostSupervisor implements TextGenerationRunner, TaskRunner {
  private readonly timings: HostTimings;
  private readonly runs = new Map<string, OpenRun>();
  private readonly cancels = new Map<string, () => void>();
  private readonly listeners = new Set<(change: HostStateChange) => void>();
  private currentState: HostState = 'loading';
  private host: HostProcess | null = null;
  private watchdog: NodeJS.Timeout | null = null;
  private runCount = 0;
  private failures = 0;
  private readyAtMs = 0;
  private oneAtATime = false;
  private restartCount = 0;
  private lastReport: HostReport | null = null;
  private whenLeft: (() => void) | null = null;
  private leaving: Promise<void> | null = null;

  constructor(private readonly options: HostSupervisorOptions) {
    this.timings = { ...defaultHostTimings, ...options.timings };
  }

  get state(): HostState {
    return this.currentState;
  }

  /** Null until the host was ready for the first time. */
  get report(): HostReport | null {
    return this.lastReport;
  }

  /** How often a host had to be replaced. */
  get restarts(): number {
    return this.restartCount;
  }

  get running(): number {
    return this.runs.size;
  }

  /** Process id of the child, for the log and for tests that kill it. */
  get pid(): number | null {
    return this.host?.pid ?? null;
  }

  onChange(listener: (change: HostStateChange) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Starts a child; returns at once. One that cannot be launched is tried again, like one that died. */
  start(): void {
    const host = this.launch();
    if (host === null) return;
    this.host = host;
    this.enter('loading', null);
    this.watch(this.timings.loadTimeoutMs, 'loading took too long');
    host.onMessage((message) => {
      if (this.host === host) this.hear(message);
    });
    host.onExit((reason) => {
      if (this.host === host) this.hostEnded(reason);
    });
    host.send({ type: 'load', options: this.options.load });
  }

  /** Null: the machine has no room for a process just now, and the next try is set. */
  private launch(): HostProcess | null {
    try {
      return this.options.launch();
    } catch (error) {
      this.hostEnded(`could not be started: ${error instanceof Error ? error.message : String(error)}`);
      return null;
    }
  }

  async run(request: TextGenerationRequest, options: RunOptions): Promise<RunResult> {
    const id = this.runId(request.id);
    return this.follow(new TextRun({ ...request, id }, options, () => this.ended(id, options.signal)), options.signal);
  }

  async runTask(request: TaskRequest, options: TaskOptions): Promise<TaskResult> {
    const id = this.runId(request.id);
    return this.follow(new TaskRun({ ...request, id }, options, () => this.ended(id, options.signal)), options.signal);
  }

  /** A job that was delivered twice runs twice: which attempt counts is decided where the row is. */
  private runId(requestId: string): string {
    if (this.currentState === 'draining' || this.currentState === 'gone') {
      throw new PlatformError('MODEL_AT_CAPACITY', 'This worker is shutting down. Try again.');
    }
    return `${requestId}#${++this.runCount}`;
  }

  private follow<Result>(run: OpenRun & { result: Promise<Result> }, signal: AbortSignal): Promise<Result> {
    if (signal.aborted) {
      run.cancelled();
      return run.result;
    }
    const cancel = () => this.cancel(run);
    this.runs.set(run.request.id, run);
    this.cancels.set(run.request.id, cancel);
    signal.addEventListener('abort', cancel, { once: true });
    this.submit(run);
    return run.result;
  }

  private ended(id: string, signal: AbortSignal): void {
    this.runs.delete(id);
    const cancel = this.cancels.get(id);
    if (cancel !== undefined) signal.removeEventListener('abort', cancel);
    this.cancels.delete(id);
  }

  /**
   * Takes no new requests, waits for the running ones, hands back what is left after `graceMs`, ends the child. What
   * waits for a host that is not ready is handed back at once: it will not start here any more.
   */
  async drain(graceMs: number): Promise<void> {
    if (this.currentState === 'gone') return;
    const mayEnd = this.currentState === 'ready' || this.currentState === 'draining';
    this.enter('draining', null);
    if (mayEnd) await this.runsEnded(graceMs);
    this.returnToQueue();
    // Two may drain at once: a model that is being unloaded, and the worker that stops meanwhile.
    await (this.leaving ??= this.leave());
  }

  private returnToQueue(): void {
    for (const run of this.runs.values()) {
      run.fail(new PlatformError('MODEL_AT_CAPACITY', 'This worker was stopped before the answer was complete.'));
    }
  }

  private submit(run: OpenRun): void {
    if (this.currentState !== 'ready' || this.host === null) return run.waitAtMost(this.timings.failoverWaitMs);
    run.submitted();
    const trace = this.options.traceOf?.(run.request.id);
    this.host.send({ type: 'submit', request: run.request, ...(trace !== undefined && { trace }) });
  }

  private cancel(run: OpenRun): void {
    if (this.host !== null && (this.currentState === 'ready' || this.currentState === 'draining')) {
      this.host.send({ type: 'cancel', id: run.request.id });
    } else run.cancelled();
  }

  private hear(message: HostMessage): void {
    const isServing = this.currentState === 'ready' || this.currentState === 'draining';
    if (isServing) this.watch(this.timings.silentAfterMs, 'silent for too long');
    switch (message.type) {
      case 'events':
        return this.route(message.events);
      case 'ready':
        return this.becameReady(message);
      case 'beat':
        return this.receivedHeartbeat(message);
      case 'load-failed':
        return this.replace(`load failed: ${message.detail}`);
      case 'hello':
      case 'drained':
        return;
    }
  }

  private becameReady(message: Extract<HostMessage, { type: 'ready' }>): void {
    const { provider, providerNote, slots, loadMs } = message;
    this.readyAtMs = performance.now();
    this.oneAtATime = message.oneAtATime;
    this.lastReport = { provider, providerNote, slots, loadMs, stats: null, residentBytes: 0, loopLagMs: 0 };
    if (this.currentState !== 'loading') return;
    this.enter('ready', null);
    this.watch(this.timings.silentAfterMs, 'silent for too long');
    for (const run of this.runs.values()) this.submit(run);
  }

  private receivedHeartbeat({ stats, residentBytes, loopLagMs }: Extract<HostMessage, { type: 'beat' }>): void {
    if (this.lastReport !== null) this.lastReport = { ...this.lastReport, stats, residentBytes, loopLagMs };
  }

  /** Events of one step, each request's together. */
  private route(events: [id: string, event: EngineEvent][]): void {
    const byRun = new Map<string, EngineEvent[]>();
    for (const [id, event] of events) {
      const list = byRun.get(id);
      if (list === undefined) byRun.set(id, [event]);
      else list.push(event);
    }
    for (const [id, list] of byRun) this.runs.get(id)?.accept(list);
  }

  /** Kills a host that is of no use any more; what follows is the same as when it died by itself. */
  private replace(reason: string): void {
    const host = this.host;
    this.hostEnded(reason);
    host?.kill();
  }

  private hostEnded(reason: string): void {
    this.host = null;
    this.watch(null, '');
    if (this.currentState === 'draining' || this.currentState === 'gone') {
      for (const run of this.runs.values()) run.fail(new PlatformError('DEVICE_LOST', 'The model stopped. Try again.'));
      this.enter('gone', null);
      this.whenLeft?.();
      return;
    }
    if (this.currentState === 'ready' && performance.now() - this.readyAtMs > this.timings.stableAfterMs) {
      this.failures = 0;
    }
    const wasReady = this.currentState === 'ready';
    const delayMs = Math.min(this.timings.firstRestartMs * 2 ** this.failures, this.timings.maxRestartMs);
    this.failures++;
    this.restartCount++;
    this.enter('restarting', `${reason}; next try in ${delayMs} ms`);
    const [oldest] = this.runs.values();
    for (const run of this.runs.values()) {
      // Runs stand in the order in which they were submitted, which is that of a host that does one at a time.
      const hadBegun = !this.oneAtATime || run === oldest;
      if (!wasReady || run.hostDied({ hadBegun }) === 'run-again') run.waitAtMost(this.timings.failoverWaitMs);
    }
    setTimeout(() => {
      if (this.currentState === 'restarting') this.start();
    }, delayMs);
  }

  private async runsEnded(graceMs: number): Promise<void> {
    const all = Promise.allSettled([...this.runs.values()].map((run) => run.result));
    let timer: NodeJS.Timeout | null = null;
    const grace = new Promise<void>((resolve) => (timer = setTimeout(resolve, graceMs)));
    await Promise.race([all, grace]);
    if (timer !== null) clearTimeout(timer);
  }

  private async leave(): Promise<void> {
    const host = this.host;
    if (host === null) return this.enter('gone', null);
    const left = new Promise<void>((resolve) => (this.whenLeft = resolve));
    const timer = setTimeout(() => host.kill(), this.timings.leaveWithinMs);
    host.send({ type: 'drain' });
    await left;
    clearTimeout(timer);
  }

  /** One timer at a time stands over the host; every message winds it up again. */
  private watch(ms: number | null, reason: string): void {
    if (this.watchdog !== null) clearTimeout(this.watchdog);
    if (ms === null) {
      this.watchdog = null;
      return;
    }
    const dueAtMs = performance.now() + ms;
    this.watchdog = setTimeout(() => {
      // Who stood still itself, as in a paused container, has not listened: what the host says now counts.
      if (performance.now() - dueAtMs > stoodStillMs) this.watch(listenAgainMs, reason);
      else this.replace(reason);
    }, ms);
  }

  private enter(state: HostState, reason: string | null): void {
    if (this.currentState === 'gone') return;
    const changed = this.currentState !== state || reason !== null;
    this.currentState = state;
    if (changed) for (const listener of this.listeners) listener({ state, reason });
  }
}
