import { type Clock, systemClock } from '#common';
import { ClaimBus } from '../affinity/claim-bus.js';
import { openStickyAssigner } from '../affinity/open-sticky-assigner.js';
import { settlesWithin } from '../contract/store-call.js';
import type { Store, StoreOptions } from '../contract/store.js';
import type { ConsumerOptions, JobConsumer, QueueTransport, TransportOptions } from '../contract/transport.js';
import { BullConsumer, type ConsumerDependencies } from '../jobs/bull-consumer.js';
import { BullProducer } from '../jobs/bull-producer.js';
import { BullResultQueue } from '../jobs/job-result-queue.js';
import { defaultReplyBufferBytes, LinkedReplyChannel } from '../replies/reply-channel.js';
import { BullQueues } from '../stores/bull-queue.js';
import { Trust } from '../trust/trust.js';
import { BusServices } from './bus-services.js';

/** How long pending messages may take to send when the process stops, in ms. */
const flushMs = 2_000;

/** The queue over one store: everything above connections is the same for Redis and Postgres. */
export class BullTransport implements QueueTransport {
  readonly kind: 'redis' | 'postgres';
  readonly producer: BullProducer;
  readonly replies: LinkedReplyChannel;
  readonly results: BullResultQueue;
  private readonly services: BusServices;
  private readonly queues: BullQueues;
  private readonly claims: ClaimBus;
  private readonly trust: Trust;
  private readonly consumers = new Set<JobConsumer>();
  private readonly warn: (message: string, error?: unknown) => void;
  private readonly outage: StoreOptions['outage'];
  private closing: Promise<void> | null = null;

  constructor(
    private readonly store: Store,
    options: TransportOptions & StoreOptions,
    private readonly clock: Clock = systemClock,
  ) {
    this.warn = options.warn;
    this.outage = options.outage;
    this.kind = store.kind;
    this.queues = new BullQueues(store, this.warn);
    this.results = new BullResultQueue(store, this.queues, { warn: this.warn, lockMs: options.resultLockMs });
    this.trust = new Trust(store, options, clock);
    const { bus, limitedBus, seals, envelopes, replyLink } = this.trust;
    this.claims = new ClaimBus(limitedBus, seals);
    const { replyBufferBytes = defaultReplyBufferBytes, affinity, membership: timing } = options;
    const assigner = openStickyAssigner(affinity, {
      claims: this.claims,
      workers: () => this.services.membership.listCurrent(),
      release: (queue, requestId) => this.producer.release(queue, requestId),
    });
    this.producer = new BullProducer(this.queues, envelopes, assigner);
    this.replies = new LinkedReplyChannel(replyLink, bus, replyBufferBytes, assigner);
    this.services = new BusServices({ bus, limitedBus, seals, replies: this.replies, clock, timing });
    if (assigner !== null) this.membership.onHeartbeat = (heartbeat) => assigner.note(heartbeat);
  }

  get cancelBus(): BusServices['cancelBus'] {
    return this.services.cancelBus;
  }

  get membership(): BusServices['membership'] {
    return this.services.membership;
  }

  get progress(): BusServices['progress'] {
    return this.services.progress;
  }

  get placements(): BusServices['placements'] {
    return this.services.placements;
  }

  get workerControl(): BusServices['workerControl'] {
    return this.services.workerControl;
  }

  get hosts(): BusServices['hosts'] {
    return this.services.hosts;
  }

  async start(): Promise<void> {
    await this.replies.startSending();
    await this.services.start();
  }

  hasKeyOf(modelId: string): boolean {
    return this.trust.hasKeyOf(modelId);
  }

  async consume<Payload extends object, Result extends object>(
    options: ConsumerOptions<Payload, Result>,
  ): Promise<JobConsumer> {
    const { modelId } = options;
    if (!this.hasKeyOf(modelId)) this.warn(`SLUICE_QUEUE_KEY has no key for ${modelId}: its jobs fail here.`);
    const onClosed = () => this.consumers.delete(consumer);
    const consumer: BullConsumer<Payload, Result> = new BullConsumer(this.consumerDependencies(onClosed), options);
    this.consumers.add(consumer);
    try {
      await consumer.start();
    } catch (error) {
      // A half-started consumer may take jobs already, and nothing else could ever close it.
      await consumer.close(0);
      throw error;
    }
    return consumer;
  }

  private consumerDependencies(onClosed: () => void): ConsumerDependencies {
    const { store, results, cancelBus: cancels, membership, progress, claims, clock, warn } = this;
    return {
      store,
      publisher: this.replies.publisher,
      results,
      cancels,
      membership,
      progress,
      claims,
      envelopes: this.trust.envelopes,
      clock,
      warn,
      countWaiting: (modality, modelId) => this.producer.countReady(modality, modelId),
      onClosed,
    };
  }

  /** What a queue or worker that @nestjs/bullmq opens needs: the store travels as its connection. */
  get bullOptions(): { connection: { store: Store }; prefix: string } {
    return { connection: { store: this.store }, prefix: this.store.prefix };
  }

  get failedCalls(): number {
    return this.queues.failedCalls;
  }

  get refusedMessages(): Trust['refusedMessages'] {
    return this.trust.refusedMessages;
  }

  get storeMemory(): Store['memory'] {
    return this.store.memory;
  }

  get poolSessions(): Store['poolSessions'] {
    return this.store.poolSessions;
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
    await this.replies.publisher.flush(flushMs);
    // An unavailable store must not keep the process alive: each step has a time limit, and the connections close in
    // any case.
    await this.services.close(flushMs);
    await settlesWithin(this.replies.close(), flushMs);
    await this.results.close();
    await settlesWithin(this.queues.close(), flushMs);
    await this.store.close();
    this.outage?.close();
  }
}
