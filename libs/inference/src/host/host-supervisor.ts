import { PlatformError } from '#common';
import { errorText } from '#common/values';
import type { RunShape } from '#model-memory';
import type { AnyEngineStats, EngineEvent } from '../contract/engine.js';
import type { TaskRequest } from '../contract/task.js';
import type { TextGenerationRequest } from '../contract/text-generation.js';
import type { HostLauncher, HostProcess } from './host-process.js';
import type { HostLoadOptions, LoadedAdapters } from '../contract/engine-loader.js';
import { HostInquiries } from './host-inquiries.js';
import type { HostMessage } from './host-protocol.js';
import type { HostRun } from './host-run.js';
import type { HostInquiry, HostTeeReport } from './host-tee.js';
import { HostWatchdog } from './host-watchdog.js';
import { type ProcessActivity, readProcessActivity } from './process-activity.js';
import { TaskRun } from './task-run.js';
import type { TaskOptions, TaskResult, TaskRunner } from './task-runner.js';
import type { RunOptions, RunResult, TextGenerationRunner } from './text-generation-runner.js';
import { TextRun } from './text-run.js';

/** State of a model host. `restarting` waits for the back-off; `gone` is final. */
export type HostState = 'loading' | 'ready' | 'restarting' | 'draining' | 'gone';

/** Time limits of a host, in ms. */
export interface HostTimings {
  /** A ready host that sends nothing and does nothing for longer is killed; see `host-silence.ts`. */
  silentAfterMs: number;
  /** The same for a load. Creating a session blocks the child, so it sends no heartbeats meanwhile. */
  loadTimeoutMs: number;
  /** How long a request waits for a host that is being restarted. */
  failoverWaitMs: number;
  /**
   * Back-off between restarts: doubled from the first delay up to the maximum, and reset after `stableAfterMs` of being
   * ready.
   */
  firstRestartMs: number;
  maxRestartMs: number;
  stableAfterMs: number;
  /** Shortest delay before a host is replaced that was silent: the machine may have too much to do. */
  afterSilenceMs: number;
  /** After `maxLoadFailures` failed loads in a row the model counts as failed and is tried again so rarely. */
  maxLoadFailures: number;
  retryFailedMs: number;
  /** How long a drained host may take to exit. */
  leaveWithinMs: number;
}

export const defaultHostTimings: HostTimings = {
  silentAfterMs: 15_000,
  loadTimeoutMs: 600_000,
  failoverWaitMs: 30_000,
  firstRestartMs: 200,
  maxRestartMs: 30_000,
  stableAfterMs: 60_000,
  afterSilenceMs: 5_000,
  maxLoadFailures: 10,
  retryFailedMs: 600_000,
  leaveWithinMs: 3_000,
};

export interface HostSupervisorOptions {
  load: HostLoadOptions;
  launch: HostLauncher;
  timings?: Partial<HostTimings>;
  /** Returns the `traceparent` of a run's job, by run id. */
  traceOf?: (runId: string) => string | undefined;
  /** Replaced by tests; default: from `/proc`. */
  readActivity?: (pid: number) => ProcessActivity | null;
}

const noAdapters: LoadedAdapters = { modelIds: [], refused: [] };

/** Last report of a host. */
export interface HostReport {
  provider: string;
  providerNote: string | null;
  slots: number;
  /** Requests beyond `slots`, of those that may use a spare slot. */
  spareSlots: number;
  loadMs: number;
  stats: AnyEngineStats | null;
  residentBytes: number;
  loopLagMs: number;
  /** Memory of its runs; null where it does not depend on the request. */
  run: RunShape | null;
  adapters: LoadedAdapters;
  /** Whether a text is the same alone and in any batch; null for engines without batches of texts. */
  batchInvariant: boolean | null;
  /** Type of the numbers in its cache; null for engines without a cache of texts. */
  cacheType: string | null;
  /** Null: it was not to make a key. That of a host is gone with it. */
  tee: HostTeeReport | null;
}

export interface HostStateChange {
  state: HostState;
  /** Reason for the log; null if the state is self-explanatory. */
  reason: string | null;
}

/** How a host ended. */
interface Circumstances {
  /** The run at fault has already ended. */
  isAnswered: boolean;
  wasSilent: boolean;
}

/** A run of any kind, as the supervisor needs it. */
type OpenRun = Pick<HostRun, keyof HostRun>;

/**
 * Supervises one model host: keeps a child process with the model running and routes requests to it. A child that dies,
 * or is killed because it is silent, affects only its running requests. Those that have delivered nothing are retried
 * once on its replacement; the others fail with `DEVICE_LOST`. Requests that only waited are not blamed for the death.
 */
export class HostSupervisor implements TextGenerationRunner, TaskRunner {
  private readonly timings: HostTimings;
  private readonly runs = new Map<string, OpenRun>();
  private readonly cancels = new Map<string, () => void>();
  private readonly listeners = new Set<(change: HostStateChange) => void>();
  private currentState: HostState = 'loading';
  private host: HostProcess | null = null;
  private readonly watchdog: HostWatchdog;
  private readonly inquiries = new HostInquiries();
  private runCount = 0;
  private failures = 0;
  private loadFailures = 0;
  private lastLoadFailure: string | null = null;
  private readyAtMs = 0;
  private oneAtATime = false;
  private restartCount = 0;
  private lastReport: HostReport | null = null;
  private onExited: (() => void) | null = null;
  private shutdown: Promise<void> | null = null;

  constructor(private readonly options: HostSupervisorOptions) {
    this.timings = { ...defaultHostTimings, ...options.timings };
    this.watchdog = new HostWatchdog({
      readActivity: options.readActivity ?? readProcessActivity,
      onDead: (reason) => this.replace(reason, { wasSilent: true }),
    });
  }

  get state(): HostState {
    return this.currentState;
  }

  /** Null until the host was ready for the first time. */
  get report(): HostReport | null {
    return this.lastReport;
  }

  /** Why the last load failed; null while loads succeed. */
  get loadFailure(): string | null {
    return this.lastLoadFailure;
  }

  /** True after several failed loads in a row: it is tried again every `retryFailedMs` only. */
  get hasFailed(): boolean {
    return this.loadFailures >= this.timings.maxLoadFailures;
  }

  /** Number of host replacements. */
  get restarts(): number {
    return this.restartCount;
  }

  get running(): number {
    return this.runs.size;
  }

  /** Process id of the child, for logs and for tests that kill it. */
  get pid(): number | null {
    return this.host?.pid ?? null;
  }

  onChange(listener: (change: HostStateChange) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Starts a child without waiting for it. A failed launch is retried like a crash. */
  start(): void {
    const host = this.launch();
    if (host === null) return;
    this.host = host;
    this.enter('loading', null);
    this.watch(this.timings.loadTimeoutMs, 'loading took too long');
    host.onMessage((message) => {
      if (this.host === host) this.handleMessage(message);
    });
    host.onExit((reason) => {
      if (this.host === host) this.handleHostExit(reason);
    });
    host.send({ type: 'load', options: this.options.load });
  }

  /** Returns null if no process could be created; a retry is then scheduled. */
  private launch(): HostProcess | null {
    try {
      return this.options.launch(this.options.load);
    } catch (error) {
      this.handleHostExit(`could not be started: ${errorText(error)}`);
      return null;
    }
  }

  /** Asks the host that runs now. Rejects with its error, or with `MODEL_OFFLINE` when it is not there or ends. */
  ask(inquiry: HostInquiry): Promise<object> {
    const { currentState: state } = this;
    return this.inquiries.ask(state === 'ready' || state === 'draining' ? this.host : null, inquiry);
  }

  async run(request: TextGenerationRequest, options: RunOptions): Promise<RunResult> {
    const id = this.runId(request.id);
    return this.follow(new TextRun({ ...request, id }, options, () => this.ended(id, options.signal)), options.signal);
  }

  async runTask(request: TaskRequest, options: TaskOptions): Promise<TaskResult> {
    const id = this.runId(request.id);
    return this.follow(new TaskRun({ ...request, id }, options, () => this.ended(id, options.signal)), options.signal);
  }

  /**
   * Makes the run id unique, because a job delivered twice runs twice; the database row decides which attempt counts.
   */
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
   * Accepts no new requests, waits for running ones, returns the rest to the queue after `graceMs`, and ends the child.
   * Requests waiting for a host that is not ready are returned immediately.
   */
  async drain(graceMs: number): Promise<void> {
    if (this.currentState === 'gone') return;
    const mayEnd = this.currentState === 'ready' || this.currentState === 'draining';
    this.enter('draining', null);
    if (mayEnd) await this.waitForRuns(graceMs);
    this.returnToQueue();
    // Two callers may drain concurrently: an unload, and the shutdown of the worker.
    await (this.shutdown ??= this.shutDown());
  }

  private returnToQueue(): void {
    for (const run of this.runs.values()) {
      run.fail(new PlatformError('MODEL_AT_CAPACITY', 'This worker was stopped before the response was complete.'));
    }
  }

  /**
   * Kills a host that uses too much memory. In a host that runs one request at a time, that request fails at once;
   * elsewhere it cannot be told which one it was, and each is retried once.
   */
  killForMemory(reason: string): void {
    const [oldest] = this.runs.values();
    const isKnown = this.oneAtATime && this.currentState === 'ready' && oldest !== undefined;
    if (isKnown) oldest.exceededMemory();
    this.replace(reason, { isAnswered: isKnown });
  }

  private submit(run: OpenRun): void {
    if (this.currentState !== 'ready' || this.host === null) return run.failAfter(this.timings.failoverWaitMs);
    run.submitted();
    const trace = this.options.traceOf?.(run.request.id);
    this.host.send({ type: 'submit', request: run.request, ...(trace !== undefined && { trace }) });
  }

  private cancel(run: OpenRun): void {
    if (this.host !== null && (this.currentState === 'ready' || this.currentState === 'draining')) {
      this.host.send({ type: 'cancel', id: run.request.id });
    } else run.cancelled();
  }

  private handleMessage(message: HostMessage): void {
    const isServing = this.currentState === 'ready' || this.currentState === 'draining';
    if (isServing) this.watchdog.heard();
    switch (message.type) {
      case 'events':
        return this.route(message.events);
      case 'ready':
        return this.becameReady(message);
      case 'beat':
        return this.receivedHeartbeat(message);
      case 'answer':
        return this.inquiries.accept(message);
      case 'load-failed':
        return this.replace(`load failed: ${message.detail}`);
      case 'hello':
        return this.watchdog.heard();
      case 'tried':
      case 'try-failed':
      case 'drained':
        return;
    }
  }

  private becameReady(message: Extract<HostMessage, { type: 'ready' }>): void {
    const { provider, providerNote, slots, spareSlots = 0, loadMs } = message;
    const { run = null, adapters = noAdapters, batchInvariant = null, cacheType = null, tee = null } = message;
    this.readyAtMs = performance.now();
    this.oneAtATime = message.oneAtATime;
    const load = { provider, providerNote, slots, spareSlots, loadMs, run, adapters, batchInvariant, cacheType, tee };
    this.lastReport = { ...load, stats: null, residentBytes: 0, loopLagMs: 0 };
    if (this.currentState !== 'loading') return;
    this.loadFailures = 0;
    this.lastLoadFailure = null;
    this.enter('ready', null);
    this.watch(this.timings.silentAfterMs, 'silent for too long');
    for (const run of this.runs.values()) this.submit(run);
  }

  private receivedHeartbeat({ stats, residentBytes, loopLagMs }: Extract<HostMessage, { type: 'beat' }>): void {
    if (this.lastReport !== null) this.lastReport = { ...this.lastReport, stats, residentBytes, loopLagMs };
  }

  /** Groups the events of one step by request. */
  private route(events: [id: string, event: EngineEvent][]): void {
    const byRun = new Map<string, EngineEvent[]>();
    for (const [id, event] of events) {
      const list = byRun.get(id);
      if (list === undefined) byRun.set(id, [event]);
      else list.push(event);
    }
    for (const [id, list] of byRun) this.runs.get(id)?.accept(list);
  }

  /** Kills an unusable host and handles it like a crash. */
  private replace(reason: string, circumstances: Partial<Circumstances> = {}): void {
    const host = this.host;
    this.handleHostExit(reason, circumstances);
    host?.kill();
  }

  private handleHostExit(reason: string, { isAnswered = false, wasSilent = false }: Partial<Circumstances> = {}): void {
    this.host = null;
    this.watchdog.stop();
    this.inquiries.hostEnded();
    if (this.currentState === 'draining' || this.currentState === 'gone') {
      for (const run of this.runs.values()) run.fail(new PlatformError('DEVICE_LOST', 'The model stopped. Try again.'));
      this.enter('gone', null);
      this.onExited?.();
      return;
    }
    if (this.currentState === 'ready' && performance.now() - this.readyAtMs > this.timings.stableAfterMs) {
      this.failures = 0;
    }
    const wasReady = this.currentState === 'ready';
    if (!wasReady) {
      this.loadFailures++;
      this.lastLoadFailure = reason.replace(/\.$/, '');
    }
    const delayMs = this.restartDelayMs(wasSilent);
    this.failures++;
    this.restartCount++;
    this.enter('restarting', `${reason}; next try in ${delayMs} ms`);
    const [oldest] = this.runs.values();
    for (const run of this.runs.values()) {
      // Runs are in submission order, which is the execution order of a host that runs one at a time.
      const hadStarted = !this.oneAtATime || (run === oldest && !isAnswered);
      if (!wasReady || run.hostDied({ hadStarted }) === 'run-again') run.failAfter(this.timings.failoverWaitMs);
    }
    setTimeout(() => {
      if (this.currentState === 'restarting') this.start();
    }, delayMs);
  }

  private restartDelayMs(wasSilent: boolean): number {
    const { firstRestartMs, afterSilenceMs, maxRestartMs, retryFailedMs } = this.timings;
    if (this.hasFailed) return retryFailedMs;
    const firstMs = wasSilent ? Math.max(firstRestartMs, afterSilenceMs) : firstRestartMs;
    return Math.min(firstMs * 2 ** this.failures, maxRestartMs);
  }

  private async waitForRuns(graceMs: number): Promise<void> {
    const all = Promise.allSettled([...this.runs.values()].map((run) => run.result));
    let timer: NodeJS.Timeout | null = null;
    const grace = new Promise<void>((resolve) => (timer = setTimeout(resolve, graceMs)));
    await Promise.race([all, grace]);
    if (timer !== null) clearTimeout(timer);
  }

  private async shutDown(): Promise<void> {
    const host = this.host;
    if (host === null) return this.enter('gone', null);
    const exited = new Promise<void>((resolve) => (this.onExited = resolve));
    const timer = setTimeout(() => host.kill(), this.timings.leaveWithinMs);
    host.send({ type: 'drain' });
    await exited;
    clearTimeout(timer);
  }

  private watch(limitMs: number, reason: string): void {
    this.watchdog.watch({ pid: this.host?.pid, limitMs, reason });
  }

  private enter(state: HostState, reason: string | null): void {
    if (this.currentState === 'gone') return;
    const changed = this.currentState !== state || reason !== null;
    this.currentState = state;
    if (changed) for (const listener of this.listeners) listener({ state, reason });
  }
}
