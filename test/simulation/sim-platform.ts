import type { JobProducer, ReplyEvent, ReplyWriter, Heartbeat, QueueTransport } from '#queue';
import type { SimApi } from './sim-api.js';
import type { SimDatabase } from './sim-database.js';
import type { SimOps } from './sim-ops.js';
import type { SimRequest } from './sim-request.js';
import type { SimStore } from './sim-store.js';
import type { SimWorker } from './sim-worker.js';
import type { PlantedBug } from './planted-bugs.js';
import type { SimProcess, World } from './world.js';

export const modelId = 'sim-model';

/** Heartbeat age after which a process counts as gone, in ms; as in `libs/queue`. */
export const lostAfterMs = 4_000;

/** All processes of one scenario, and the channels between them. */
export class SimPlatform {
  apis: SimApi[] = [];
  workers: SimWorker[] = [];
  ops: SimOps[] = [];
  readonly requests = new Map<string, SimRequest>();

  constructor(
    readonly world: World,
    readonly store: SimStore,
    readonly database: SimDatabase,
    readonly plant: PlantedBug | null,
  ) {}

  get processes(): SimProcess[] {
    return [...this.apis, ...this.workers, ...this.ops].map(({ process }) => process);
  }

  /** Called on every effective closing. */
  readonly onClosing = ({ requestId }: { requestId: string }): void => {
    const request = this.requests.get(requestId);
    if (request) request.isClosed = true;
  };

  hasHeartbeat({ lastHeartbeatAtMs }: SimProcess): boolean {
    return this.world.nowMs() - lastHeartbeatAtMs <= lostAfterMs;
  }

  get hasReplica(): boolean {
    return this.workers.some(({ process }) => this.hasHeartbeat(process));
  }

  /** Lets time pass: live processes send heartbeats, renew locks, and detect expiry. */
  passTime(milliseconds: number): void {
    const { world, store } = this;
    world.passTime(milliseconds);
    const nowMs = world.nowMs();
    world.note(`-- ${milliseconds} ms pass`);
    for (const process of this.processes) if (process.runs) process.lastHeartbeatAtMs = nowMs;
    store.renew(nowMs);
    for (const worker of this.workers) worker.checkExpiry();
    for (const api of this.apis) api.checkExpiry();
  }

  transportFor(process: SimProcess): QueueTransport {
    const { world } = this;
    const transport = {
      kind: 'redis',
      producer: this.producerFor(process),
      replies: {
        address: process.name,
        writer: (address: string, requestId: string) => this.writerTo(process, address, requestId),
      },
      cancelBus: {
        cancel: (requestId: string) =>
          world.step(process, {
            label: `cancel ${requestId}`,
            start: () => {
              for (const worker of this.workers) worker.onCancel(requestId);
            },
          }),
      },
      membership: { list: () => this.heartbeats() },
      results: {
        pending: () => world.step(process, { label: 'check job results', start: () => this.store.pending() }),
        // A worker retries until it is confirmed: a lost message equals a late one.
        report: (result: Parameters<QueueTransport['results']['report']>[0]) =>
          process.isDead
            ? Promise.resolve()
            : world
                .step(process, {
                  label: `report ${result.requestId}/${result.attempt} ${result.error?.code ?? result.status}`,
                  start: () => {
                    this.store.report(result, world.nowMs());
                    this.requests.get(result.requestId)?.reports.push(result);
                  },
                  mayBeLost: false,
                })
                .catch(() => undefined),
      },
    };
    return transport as unknown as QueueTransport;
  }

  /** Events reach the reply stream at once while its API replica lives. */
  writerTo(sender: SimProcess, address: string, requestId: string): ReplyWriter {
    const writer = {};
    let isFirst = true;
    return {
      send: (...events: ReplyEvent[]) => {
        if (sender.isDead) return;
        const api = this.apis.find(({ process }) => process.name === address && !process.isDead);
        api?.slots.get(requestId)?.accept(writer, isFirst, events);
        isFirst = false;
      },
    };
  }

  private producerFor(process: SimProcess): JobProducer {
    const { world, store } = this;
    const step = <Result>(label: string, start: () => Result) => world.step<Result>(process, { label, start });
    return {
      requireRoom: () => undefined,
      enqueue: (definition, envelope) =>
        step(`enqueue ${envelope.requestId}/${envelope.attempt}`, () => store.add(definition, envelope)),
      enqueueBulk: () => Promise.reject(new Error('bulk adds are not simulated')),
      remove: (_modality, _model, requestId) => step(`remove ${requestId}`, () => store.remove(requestId)),
      withdraw: (_modality, _model, requestId) => step(`withdraw ${requestId}`, () => store.withdraw(requestId)),
      holds: (_modality, _model, requestId) => step(`holds ${requestId}`, () => store.jobs.has(requestId)),
      listWaiting: () => Promise.reject(new Error('lists are not simulated')),
      countAhead: () => Promise.resolve(store.waiting.length),
      counts: () => Promise.resolve({ waiting: store.waiting.length, active: 0, delayed: 0 }),
    };
  }

  private heartbeats(): Heartbeat[] {
    const model = { modelId, modalities: ['chat'], state: 'ready' as const, slots: 4, running: 0, provider: 'cpu' };
    return this.processes
      .filter((process) => this.hasHeartbeat(process))
      .map(({ name, role }) => ({
        processId: name,
        role: role as Heartbeat['role'],
        replyAddress: role === 'api' ? name : null,
        models: role === 'worker' ? [model] : [],
        alive: true,
      }));
  }
}
