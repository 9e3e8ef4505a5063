import { type Clock, systemClock } from '#common';
import { AffinityRouter } from './affinity/affinity-router.js';
import { ClaimBus } from './affinity/claim-bus.js';
import { JobKeeper } from './affinity/job-keeper.js';
import { BullConsumer } from './bull-consumer.js';
import { BullQueues } from './bull-queue.js';
import { BullProducer } from './bull-producer.js';
import { BusCancels } from './cancel-bus.js';
import { defaultSlotBytes, LinkedMailbox } from './mailbox.js';
import { BullOutcomes } from './outcome-queue.js';
import { BusPlacements } from './placement-bus.js';
import { BusPresence, defaultPresenceTiming } from './presence-bus.js';
import { BusProgress } from './progress-bus.js';
import { settlesWithin } from './store-call.js';
import type { Store, StoreOptions } from './store.js';
import type { AffinityOptions, ConsumerOptions, JobConsumer, QueueTransport, TransportOptions } from './transport.js';

/** How long what is still to be sent may take at the end, in ms. */
const flushMs = 2_000;

/** The queue over one store: everything above connections is the same for Redis and Postgres. */
export class BullTransport implements QueueTransport {
  readonly kind: 'redis' | 'postgres';
  readonly producer: BullProducer;
  readonly mailbox: LinkedMailbox;
  readonly cancelBus: BusCancels;
  readonly presence: BusPresence;
  readonly progress: BusProgress;
  readonly placements: BusPlacements;
  readonly outcomes: BullOutcomes;
  private readonly queues: BullQueues;
  private readonly claims: ClaimBus;
  private readonly consumers = new Set<JobConsumer>();
  private readonly warn: (message: string, error?: unknown) => void;
  private closing: Promise<void> | null = null;

  constructor(
    private readonly store: Store,
    options: TransportOptions & StoreOptions,
    private readonly clock: Clock = systemClock,
  ) {
    this.warn = options.warn;
    this.kind = store.kind;
    this.queues = new BullQueues(store, this.warn);
    this.claims = new ClaimBus(store.bus);
    const { slotBytes = defaultSlotBytes, affinity } = options;
    const keeper = affinity === undefined ? null : this.openKeeper(affinity);
    this.producer = new BullProducer(this.queues, keeper);
    this.mailbox = new LinkedMailbox(store.mailboxLink, store.bus, slotBytes, keeper);
    this.cancelBus = new BusCancels(store.bus);
    this.presence = new BusPresence(store.bus, clock, options.presence ?? defaultPresenceTiming);
    if (keeper !== null) this.presence.onBeat = (beat) => keeper.note(beat);
    this.progress = new BusProgress(store.bus, clock);
    this.placements = new BusPlacements(store.bus, clock);
    this.outcomes = new BullOutcomes(store, this.queues, { warn: this.warn, lockMs: options.outcomeLockMs });
  }

  private openKeeper(affinity: AffinityOptions): JobKeeper {
    return new JobKeeper({
      ...affinity,
      router: new AffinityRouter(() => this.presence.prompt()),
      claims: this.claims,
      recall: (queue, requestId) => this.producer.recall(queue, requestId),
    });
  }

  async start(): Promise<void> {
    await this.mailbox.startSending();
    await this.cancelBus.start();
    await this.presence.start();
    await this.progress.start();
    await this.placements.start();
  }

  async consume<Payload extends object, Result extends object>(
    options: ConsumerOptions<Payload, Result>,
  ): Promise<JobConsumer> {
    const { store, outcomes, cancelBus: cancels, presence, progress, claims, clock, warn } = this;
    const countWaiting = (modality: string, modelId: string) => this.producer.countReady(modality, modelId);
    const consumer = new BullConsumer(
      {
        ...{ store, outbox: this.mailbox.outbox, outcomes, cancels, presence, progress, claims, clock, warn },
        countWaiting,
        onClosed: () => this.consumers.delete(consumer),
      },
      options,
    );
    this.consumers.add(consumer);
    try {
      await consumer.start();
    } catch (error) {
      // Half of it may take jobs already, and nobody else could ever close it.
      await consumer.close(0);
      throw error;
    }
    return consumer;
  }

  get failedCalls(): number {
    return this.queues.failedCalls;
  }

  ping(): Promise<void> {
    return this.store.ping();
  }

  close(): Promise<void> {
    this.closing ??= this.shutDown();
    return this.closing;
  }

  private async shutDown(): Promise<void> {
    await Promise.all([...this.consumers].map((consumer) => consumer.close(0)));
    await this.mailbox.outbox.flush(flushMs);
    // A store that is away must not keep the process: each step is given its time, and the connections go in any case.
    await settlesWithin(this.presence.close(), flushMs);
    this.cancelBus.close();
    this.progress.close();
    this.placements.close();
    await settlesWithin(this.mailbox.close(), flushMs);
    await this.outcomes.close();
    await settlesWithin(this.queues.close(), flushMs);
    await this.store.close();
  }
}
