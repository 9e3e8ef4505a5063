import { type Clock, systemClock } from '#common';
import { AffinityRouter } from '../affinity/affinity-router.js';
import { ClaimBus } from '../affinity/claim-bus.js';
import { StickyAssigner } from '../affinity/sticky-assigner.js';
import { BullConsumer } from '../jobs/bull-consumer.js';
import { BullQueues } from '../stores/bull-queue.js';
import { BullProducer } from '../jobs/bull-producer.js';
import { BusCancels } from '../replies/cancel-bus.js';
import { defaultReplyBufferBytes, LinkedReplyChannel } from '../replies/reply-channel.js';
import { BullResultQueue } from '../jobs/job-result-queue.js';
import { BusPlacements } from '../heartbeats/placement-bus.js';
import { BusWorkerControl } from '../heartbeats/worker-control.js';
import { BusHostQuestions } from '../hosts/bus-host-questions.js';
import { BusMembership, defaultMembershipTiming } from '../heartbeats/cluster-membership.js';
import { BusKeys } from '../trust/bus/bus-keys.js';
import { LimitedBus } from '../trust/bus/limited-bus.js';
import { type RefusalReason, SignedBus } from '../trust/bus/signed-bus.js';
import { BusProgress } from '../replies/progress-bus.js';
import { QueueKeys } from '../trust/seal/queue-keys.js';
import { SealedReplyLink } from '../trust/seal/sealed-reply-link.js';
import { settlesWithin } from '../contract/store-call.js';
import type { MessageOrigin, Store, StoreOptions } from '../contract/store.js';
import type { AffinityOptions, ConsumerOptions, JobConsumer, QueueTransport, TransportOptions } from '../contract/transport.js';

/** How long pending messages may take to send when the process stops, in ms. */
const flushMs = 2_000;

/** For operators of pools. */
const withoutBusKey =
  'SLUICE_QUEUE_KEY has no key for messages of api and ops, and takes them from any worker: make these credentials again.';

/** The queue over one store: everything above connections is the same for Redis and Postgres. */
export class BullTransport implements QueueTransport {
  readonly kind: 'redis' | 'postgres';
  readonly producer: BullProducer;
  readonly replies: LinkedReplyChannel;
  readonly cancelBus: BusCancels;
  readonly membership: BusMembership;
  readonly progress: BusProgress;
  readonly placements: BusPlacements;
  readonly workerControl: BusWorkerControl;
  readonly hosts: BusHostQuestions;
  readonly results: BullResultQueue;
  private readonly queues: BullQueues;
  private readonly claims: ClaimBus;
  private readonly keys: QueueKeys;
  private readonly bus: SignedBus;
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
    this.keys = new QueueKeys(options.sealKeys ?? []);
    const limited = new LimitedBus(store.bus, clock);
    this.claims = new ClaimBus(limited, this.keys);
    this.bus = this.openBus(limited, options);
    const { replyBufferBytes = defaultReplyBufferBytes, affinity } = options;
    const assigner = affinity === undefined ? null : this.openStickyAssigner(affinity);
    const replyLink = new SealedReplyLink(store.replyLink, this.keys);
    this.producer = new BullProducer(this.queues, assigner, this.keys);
    this.replies = new LinkedReplyChannel(replyLink, this.bus, replyBufferBytes, assigner);
    this.cancelBus = new BusCancels(this.bus);
    this.membership = new BusMembership(this.bus, clock, options.membership ?? defaultMembershipTiming);
    if (assigner !== null) this.membership.onHeartbeat = (heartbeat) => assigner.note(heartbeat);
    this.progress = new BusProgress(limited, clock, this.keys);
    this.placements = new BusPlacements(this.bus, clock);
    this.workerControl = new BusWorkerControl(this.bus);
    this.hosts = new BusHostQuestions(this.bus, this.replies, this.membership);
    this.results = new BullResultQueue(store, this.queues, { warn: this.warn, lockMs: options.resultLockMs });
  }

  private openBus(bus: LimitedBus, { sealKeys = [], namespace }: StoreOptions & TransportOptions): SignedBus {
    const keys = new BusKeys(sealKeys, this.clock);
    if (!keys.isEmpty && !keys.canVerifySignatures) this.warn(withoutBusKey);
    const onRefused = (channel: string, origin: MessageOrigin) => bus.noteRefusal(channel, origin);
    return new SignedBus(bus, { keys, namespace, clock: this.clock, warn: this.warn, onRefused });
  }

  private openStickyAssigner(affinity: AffinityOptions): StickyAssigner {
    return new StickyAssigner({
      ...affinity,
      router: new AffinityRouter(() => this.membership.listCurrent()),
      claims: this.claims,
      release: (queue, requestId) => this.producer.release(queue, requestId),
    });
  }

  async start(): Promise<void> {
    await this.replies.startSending();
    await this.cancelBus.start();
    await this.membership.start();
    await this.progress.start();
    await this.placements.start();
    await this.workerControl.start();
  }

  hasKeyOf(modelId: string): boolean {
    return this.keys.models?.includes(modelId) !== false;
  }

  async consume<Payload extends object, Result extends object>(
    options: ConsumerOptions<Payload, Result>,
  ): Promise<JobConsumer> {
    const { store, results, cancelBus: cancels, membership, progress, claims, keys, clock, warn } = this;
    const { modelId } = options;
    if (!this.hasKeyOf(modelId)) warn(`SLUICE_QUEUE_KEY has no key for ${modelId}: its jobs fail here.`);
    const countWaiting = (modality: string, modelId: string) => this.producer.countReady(modality, modelId);
    const consumer = new BullConsumer(
      {
        ...{
          store,
          publisher: this.replies.publisher,
          results,
          cancels,
          membership,
          progress,
          claims,
          keys,
          clock,
          warn,
        },
        countWaiting,
        onClosed: () => this.consumers.delete(consumer),
      },
      options,
    );
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

  /** What a queue or worker that @nestjs/bullmq opens needs: the store travels as its connection. */
  get bullOptions(): { connection: { store: Store }; prefix: string } {
    return { connection: { store: this.store }, prefix: this.store.prefix };
  }

  get failedCalls(): number {
    return this.queues.failedCalls;
  }

  get refusedMessages(): ReadonlyMap<RefusalReason, number> {
    return this.bus.refused;
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
    await settlesWithin(this.membership.close(), flushMs);
    this.cancelBus.close();
    this.progress.close();
    this.placements.close();
    this.workerControl.close();
    await settlesWithin(this.replies.close(), flushMs);
    await this.results.close();
    await settlesWithin(this.queues.close(), flushMs);
    await this.store.close();
    this.outage?.close();
  }
}
