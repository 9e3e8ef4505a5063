import {
  JobQuote,
  KeyUsageRepository,
  LedgerRepository,
  type ModelPrice,
  ReservationRefused,
  ReservationStep,
  SettlementStep,
} from '#billing';
import { PlatformError } from '#common';
import {
  AdmissionService,
  JobCloser,
  JobsRepository,
  JobsService,
  PayloadCipher,
  AbandonedAdmissions,
  ResultTickets,
} from '#jobs';
import { JobStream } from '#gateway';
import { meterJob } from '#modalities';
import { simChatJob } from './sim-job.js';
import { silentLogger } from './silent-logger.js';
import { lostAfterMs, modelId, type SimPlatform } from './sim-platform.js';
import { quoteNano, type SimRequest, usageOf } from './sim-request.js';
import { SimSlot } from './sim-reply-stream.js';
import { SimProcess } from './world.js';

export const secretKey = '5'.repeat(64);

/** How long a model may have no replica before a request is aborted, in ms; as in the API. */
const orphanedAfterMs = 2_000;
/** The same for a request that can start, or start again. */
const queuedPatienceMs = 30_000;

interface OpenJobStream {
  request: SimRequest;
  slot: SimSlot;
  disconnected: AbortController;
  lost: AbortController;
  deadlineAtMs: number;
  /** How long its model may have no replica, in ms. */
  maxWaitMs: number;
}

/** An API replica with production admission, job stream and cancellation. */
export class SimApi {
  readonly slots = new Map<string, SimSlot>();
  readonly openStreams = new Map<string, OpenJobStream>();
  readonly process: SimProcess;
  private readonly admission: AdmissionService;
  private readonly jobs: JobsService;
  private readonly repository: JobsRepository;

  constructor(
    private readonly platform: SimPlatform,
    name: string,
  ) {
    const { world, database, plant } = platform;
    this.process = new SimProcess(name, 'api', world.nowMs());
    // The client has gone; the code behind the reply streams must finish nevertheless.
    this.process.onDeath(() => {
      for (const slot of this.slots.values()) slot.close();
    });
    const transport = platform.transportFor(this.process);
    const prisma = database.prismaFor(world, this.process);
    this.repository = new JobsRepository(prisma);
    const jobs = plant?.jobs?.(this.repository) ?? this.repository;
    const settlement = new SettlementStep(new LedgerRepository(prisma), meterJob);
    const reservation = new ReservationStep(new LedgerRepository(prisma), new KeyUsageRepository(prisma));
    const closer = new JobCloser(jobs, [plant?.settlement?.(settlement) ?? settlement], [platform.onClosing]);
    const common = { jobs, closer, transport, logger: silentLogger };
    const tickets = new ResultTickets(secretKey);
    const pause = (milliseconds: number) => world.sleep(this.process, milliseconds);
    this.admission = AdmissionService.of({
      ...common,
      abandonedAdmissions: new AbandonedAdmissions(jobs, closer, transport, silentLogger, { clock: world, pause }),
      cipher: new PayloadCipher(secretKey),
      tickets,
      queueLimit: 1_000,
      steps: [plant?.reservation?.(reservation, prisma) ?? reservation],
    });
    this.jobs = new JobsService(this.repository, tickets, transport, silentLogger);
  }

  /** Runs one request from its admission to its last event; never rejects. */
  async serve(request: SimRequest, price: ModelPrice, maxTokens: number): Promise<void> {
    const slot = new SimSlot();
    if (request.kind !== 'async') this.slots.set(request.id, slot);
    try {
      await this.admit(request, price, maxTokens);
      request.admission = 'admitted';
      if (request.kind !== 'async') await this.follow(request, slot);
    } catch (error) {
      if (!this.process.isDead) this.tell(request, error);
    }
    this.slots.delete(request.id);
  }

  /** Clients disconnect: their connections close. */
  leave(requestId: string): void {
    const openStream = this.openStreams.get(requestId);
    if (openStream) openStream.request.hasLeft = true;
    openStream?.disconnected.abort();
  }

  /** Checks deadlines, and models without a replica. */
  checkExpiry(): void {
    if (!this.process.runs) return;
    const nowMs = this.platform.world.nowMs();
    const lastReplicaMs = Math.max(0, ...this.platform.workers.map(({ process }) => process.lastHeartbeatAtMs));
    for (const { request, disconnected, lost, deadlineAtMs, maxWaitMs } of this.openStreams.values()) {
      if (nowMs >= deadlineAtMs) this.leave(request.id);
      else if (disconnected.signal.aborted) continue;
      else if (nowMs - lastReplicaMs > lostAfterMs + maxWaitMs) lost.abort();
    }
  }

  private tell(request: SimRequest, error: unknown): void {
    if (request.admission === null) {
      const isRefusal = error instanceof ReservationRefused;
      if (!isRefusal && !(error instanceof PlatformError)) this.platform.world.problem(`admission: ${String(error)}`);
      request.admission = isRefusal ? 'refused' : 'unavailable';
    } else if (error instanceof PlatformError) request.answer = { errorCode: error.code };
    else if (!request.hasLeft) this.platform.world.problem(`a job stream ended with ${String(error)}`);
  }

  /** A request that the balance does not cover is retried once with less output. */
  private async admit(request: SimRequest, price: ModelPrice, maxTokens: number): Promise<void> {
    try {
      await this.open(request, price, maxTokens);
    } catch (error) {
      if (!(error instanceof ReservationRefused) || maxTokens <= 1 || error.grantableNano < quoteNano(1)) throw error;
      await this.open(request, price, 1);
    }
  }

  private async open(request: SimRequest, price: ModelPrice, maxTokens: number): Promise<void> {
    const { id: requestId, accountId, apiKeyId, kind } = request;
    request.quotedNano = quoteNano(maxTokens);
    // The worker of this world does not clamp its output to what is paid for.
    const bounds = usageOf(request.tokens);
    await this.admission.open({
      requestId,
      caller: { accountId, apiKeyId, kind: 'INFERENCE', tier: 'default', modelPrivacy: 'ALL', betaAccess: false },
      definition: simChatJob,
      modelId,
      payload: { tokens: request.tokens },
      replyTo: kind === 'async' ? null : this.process.name,
      stream: kind === 'stream',
      bounds,
      quote: new JobQuote(request.quotedNano, price, bounds),
    });
  }

  private async follow(request: SimRequest, slot: SimSlot): Promise<void> {
    const { world } = this.platform;
    const { id, kind } = request;
    const openStream = new JobStream(slot, {
      started: () => void this.repository.markRunning([id]).catch(() => undefined),
      ended: () => undefined,
      cancel: () => this.jobs.cancel(id).catch(() => undefined),
    });
    const disconnected = new AbortController();
    const deadlineAtMs = world.nowMs() + simChatJob.policy.deadlineMs;
    const open = { request, slot, disconnected, lost: new AbortController(), deadlineAtMs, maxWaitMs: Infinity };
    this.openStreams.set(id, open);
    const watch = (maxWaitMs: number) => {
      open.maxWaitMs = maxWaitMs;
      open.lost = new AbortController();
      return { lost: open.lost.signal, release: () => undefined };
    };
    try {
      const never = new AbortController().signal;
      const watches = { watchAvailability: () => watch(orphanedAfterMs), watchQueue: () => watch(queuedPatienceMs) };
      const ends = { disconnected: disconnected.signal, stopping: never, ...watches, deadlineMs: 3_600_000 };
      const usage = await openStream.run(ends, () => undefined, kind === 'stream' ? undefined : () => undefined);
      if (!this.process.isDead) request.answer = { usage };
    } finally {
      this.openStreams.delete(id);
    }
  }
}
