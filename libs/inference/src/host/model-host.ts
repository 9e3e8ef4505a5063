import { monitorEventLoopDelay } from 'node:perf_hooks';
import { PlatformError } from '#common';
import { errorText } from '#common/values';
import { loadConfig, TracingConfig } from '#platform/config';
import { IdleCollector } from '#platform/memory';
import { noTracing, openTracing, type Tracing } from '#platform/tracing';
import type { EngineEvent, EngineSink } from '../contract/engine.js';
import type { HostCommand, HostMessage } from './host-protocol.js';
import type { EngineLoader, LoadedEngine, HostLoadOptions, WarmUp } from '../contract/engine-loader.js';
import { explainError, loadOnProvider } from './load-on-provider.js';
import { HostTee, type HostTeeReport } from './host-tee.js';
import { SealedRequests } from './sealed-requests.js';
import { SubmitTurns } from './submit-turns.js';
import { measureTrial, resultOf } from './trial-run.js';

/** The child's end of the fork's channel, as provided by `process`. */
export interface HostChannel {
  send(message: HostMessage): void;
  /** Resolves when all sent messages have been handed to the parent. */
  sent(): Promise<void>;
  onCommand(listener: (command: HostCommand) => void): void;
  exit(code: number): void;
}

export const heartbeatIntervalMs = 1_000;

const ownRunId = 'warm-up';

/**
 * Child process of a model host: loads one model and executes the worker's messages. Sends one message per engine step,
 * and a heartbeat every second as long as its event loop runs.
 */
export class ModelHost {
  private loaded: LoadedEngine | null = null;
  /** Events of the host's own run, and who waits for its end. */
  private ownRun: { events: EngineEvent[]; end: () => void } | null = null;
  private readonly loopDelay = monitorEventLoopDelay({ resolution: 20 });
  private tracing: Tracing = noTracing;
  private tee: HostTee | null = null;
  private heartbeatTimer: NodeJS.Timeout | null = null;
  private readonly turns = new SubmitTurns({
    // Worker and family agree on the kind of request; a family fails unknown tasks.
    submit: ({ request }) => this.loaded?.engine.submit(request as never),
    cancel: (id) => this.loaded?.engine.cancel(id),
  });
  private readonly sealed = new SealedRequests({
    key: () => this.tee?.identity ?? null,
    submit: (request) => this.turns.submit({ type: 'submit', request }),
    send: (id, event) => this.passOn([[id, event]]),
  });

  constructor(
    private readonly channel: HostChannel,
    private readonly loadEngine: EngineLoader,
    private readonly openTraces: () => Promise<Tracing> = () => Promise.resolve(noTracing),
  ) {}

  start(): void {
    this.channel.onCommand((command) => this.obey(command));
    this.channel.send({ type: 'hello', pid: process.pid });
  }

  private obey(command: HostCommand): void {
    switch (command.type) {
      case 'load':
        void this.load(command.options);
        return;
      case 'submit':
        this.beginSpan(command);
        if ('sealing' in command.request && command.request.sealing !== undefined) {
          this.tee?.noteSealed(command.request.id);
          return this.sealed.submit(command.request);
        }
        return this.turns.submit(command);
      case 'cancel':
        if (!this.sealed.cancel(command.id)) this.turns.cancel(command.id);
        return;
      case 'ask':
        void this.answer(command);
        return;
      case 'try':
        void this.try();
        return;
      case 'drain':
        void this.drain();
        return;
    }
  }

  private async load(options: HostLoadOptions): Promise<void> {
    const startedAt = performance.now();
    try {
      this.tracing = await this.openTraces();
      const { providerLibraries = [] } = options;
      // Loaded on demand: few machines have some.
      if (providerLibraries.length > 0) {
        const { registerProviderLibraries } = await import('../runtime/c-api/provider-libraries.js');
        registerProviderLibraries(providerLibraries);
      }
      const loaded = await loadOnProvider(options, {
        load: async (attempt) => (this.loaded = await this.loadEngine(attempt, this.deliver)),
        firstRun: (model) => this.warmUp(model),
      });
      const tee = await this.openTee(options);
      this.startBeating(loaded);
      const { engine, provider, providerNote, slots, spareSlots, run, adapters, batchInvariant, cacheType } = loaded;
      const oneAtATime = 'oneAtATime' in engine && engine.oneAtATime === true;
      const loadMs = performance.now() - startedAt;
      const more = {
        ...(spareSlots !== undefined && { spareSlots }),
        ...(run !== undefined && { run }),
        ...(adapters !== undefined && { adapters }),
        ...(batchInvariant !== undefined && { batchInvariant }),
        ...(cacheType !== undefined && { cacheType }),
        ...(tee !== null && { tee }),
      };
      this.channel.send({ type: 'ready', provider, providerNote, slots, loadMs, oneAtATime, ...more });
    } catch (error) {
      const detail = explainError(error);
      this.channel.send({ type: 'load-failed', error: PlatformError.from(error, 'INFERENCE_FAILED').toWire(), detail });
    }
  }

  /** A model without evidence runs like any other, and its worker says that it has none. */
  private async openTee({ tee: choice }: HostLoadOptions): Promise<HostTeeReport | null> {
    if (choice === undefined) return null;
    try {
      this.tee = await HostTee.open(choice);
      return this.tee.report;
    } catch (error) {
      return { failure: errorText(error) };
    }
  }

  private async answer({ id, inquiry }: Extract<HostCommand, { type: 'ask' }>): Promise<void> {
    try {
      if (this.tee === null) throw new PlatformError('TEE_ATTESTATION_FAILED', 'The host of the model has no key.');
      this.channel.send({ type: 'answer', id, answer: await this.tee.answer(inquiry) });
    } catch (error) {
      this.channel.send({ type: 'answer', id, error: PlatformError.from(error).toWire() });
    }
  }

  private async warmUp({ warmUp }: LoadedEngine): Promise<void> {
    if (warmUp !== undefined) resultOf(await this.runOwn(warmUp));
  }

  private async try(): Promise<void> {
    try {
      const { loaded } = this;
      if (loaded === null) throw new Error('no model is loaded');
      const { trial = loaded.warmUp, provider } = loaded;
      const run = (request: WarmUp) => this.runOwn(request);
      const measure = trial === undefined ? null : await measureTrial(trial, { provider, run });
      this.channel.send({ type: 'tried', measure });
    } catch (error) {
      this.channel.send({ type: 'try-failed', detail: explainError(error) });
    }
  }

  /** Runs a request of the host itself and returns its events, which nobody else gets. */
  private async runOwn(request: WarmUp): Promise<readonly EngineEvent[]> {
    const events: EngineEvent[] = [];
    const ended = new Promise<void>((resolve) => (this.ownRun = { events, end: resolve }));
    this.loaded?.engine.submit({ ...request, id: ownRunId } as never);
    await ended;
    this.ownRun = null;
    return events;
  }

  private readonly deliver: EngineSink = Object.assign(
    (events: [id: string, event: EngineEvent][]) => {
      const { ownRun } = this;
      if (ownRun === null) return this.passOn(events);
      const ofRun = events.flatMap(([id, event]) => (id === ownRunId ? [event] : []));
      ownRun.events.push(...ofRun);
      if (ofRun.some(isLast)) ownRun.end();
    },
    { delivered: () => this.channel.sent() },
  );

  /** Exits after a device failure; the worker reacts to the exit. */
  private passOn(produced: [id: string, event: EngineEvent][]): void {
    const events = this.sealed.translate(produced);
    for (const [id, event] of events) if (isLast(event)) this.ended(id, event);
    this.channel.send({ type: 'events', events });
    const exitOnDeviceLoss = events.some(([, event]) => event.type === 'failed' && event.error.code === 'DEVICE_LOST');
    if (exitOnDeviceLoss) this.channel.exit(1);
  }

  private beginSpan({ request, trace }: Extract<HostCommand, { type: 'submit' }>): void {
    if (trace === undefined) return;
    const name = 'task' in request ? request.task : 'generate';
    this.tracing.begin(request.id, { name, kind: 'internal', parent: trace });
  }

  private ended(id: string, event: EngineEvent): void {
    if (this.tracing.enabled) this.endSpan(id, event);
    this.tee?.noteEnd(id);
  }

  private endSpan(id: string, event: EngineEvent): void {
    if (event.type === 'failed') return this.tracing.end(id, { error: event.error.code });
    if (event.type !== 'finished') return this.tracing.end(id);
    const { promptTokens, cachedTokens, completionTokens } = event.usage;
    this.tracing.end(id, {
      attributes: {
        'gen_ai.usage.input_tokens': promptTokens,
        'gen_ai.usage.output_tokens': completionTokens,
        'sluice.cached_tokens': cachedTokens,
        'sluice.cancelled': event.cancelled,
      },
    });
  }

  private startBeating({ engine }: LoadedEngine): void {
    this.loopDelay.enable();
    this.heartbeatTimer = setInterval(() => {
      const loopLagMs = this.loopDelay.count === 0 ? 0 : this.loopDelay.percentile(99) / 1e6;
      this.loopDelay.reset();
      const residentBytes = process.memoryUsage.rss();
      this.channel.send({ type: 'beat', stats: engine.stats(), residentBytes, loopLagMs });
    }, heartbeatIntervalMs);
  }

  private async drain(): Promise<void> {
    if (this.heartbeatTimer !== null) clearInterval(this.heartbeatTimer);
    await this.loaded?.engine.close();
    await this.tracing.close();
    this.channel.send({ type: 'drained' });
    this.channel.exit(0);
  }
}

function isLast({ type }: EngineEvent): boolean {
  return type === 'finished' || type === 'task-finished' || type === 'failed';
}

/** Serves the channel of this forked process until the parent ends it or disconnects. */
export function serveModelHost(loadEngine: EngineLoader): void {
  const send = process.send?.bind(process);
  if (send === undefined) throw new Error('a model host must be started by a worker');
  // Ctrl-C reaches the whole process group; only the worker decides when to stop.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => undefined);
  process.on('disconnect', () => process.exit());
  let sent = Promise.resolve();
  const channel: HostChannel = {
    send: (message) => {
      if (!process.connected) return;
      // Without a listener, a write to a killed worker would throw; `disconnect` follows immediately.
      sent = new Promise((resolve) => send(message, undefined, undefined, () => resolve()));
    },
    sent: () => sent,
    onCommand: (listener) => void process.on('message', listener),
    // Exits after the last message has been sent.
    exit: (code) => {
      process.exitCode = code;
      process.disconnect();
    },
  };
  new IdleCollector().start();
  new ModelHost(channel, loadEngine, () => openTracing('sluice-model-host', loadConfig(TracingConfig))).start();
}
