import type { Caller } from '#accounts';
import { BudgetSpent, type ErrorCode, PlatformError, type StoreBudget } from '#common';
import type { Logger } from '#platform/logging';
import type { JobDefinition, QueueTransport, UsageBounds } from '#queue';
import type { ReservedTokens, TokenReservation } from '#rate-limit';
import type { AccountTurns } from './account-turns.js';
import { GroupCommit } from './group-commit.js';
import type { JobCloser } from '../lifecycle/job-closer.js';
import type { Admission, AdmissionStep, AdmittedJob, JobTransaction } from '../lifecycle/job-states.js';
import type { JobsRepository, NewJob } from '../lifecycle/jobs.repository.js';
import type { NewMediaJob } from '../media/media-job.js';
import { MediaJobsRepository } from '../media/media-jobs.repository.js';
import type { ResultTickets } from '../tickets/result-tickets.js';
import type { PayloadCipher } from './payload-cipher.js';
import { type JobPreparation, preparationDeadlineMs, type PreparedJob, storePrepared } from './job-preparation.js';
import { routeKeyOf } from './route-key.js';
import type { StoredRequest } from './stored-request.js';
import { QueueLimit, type QueuePosition } from './queue-limit.js';
import { type AbandonedAdmission, AbandonedAdmissions } from './abandoned-admissions.js';

/** A validated request that is ready to run. */
export interface OpenRequest {
  requestId: string;
  caller: Caller;
  definition: JobDefinition<object, object>;
  modelId: string;
  payload: object;
  /** The most that this payload can use: a result that says more is refused. */
  bounds: UsageBounds;
  /** Ms from now; default: the policy's. */
  deadlineMs?: number;
  /** Reply address of this replica; null for async jobs. */
  replyTo: string | null;
  stream: boolean;
  /** What the rate limit reserved; stored with the row, so that closing the job corrects it. */
  tokenReservation?: TokenReservation | null;
  /** Set for async jobs; `replyTo` is null then. */
  media?: NewMediaJob;
  /**
   * Identifies requests of one conversation: those of one account with the same key go to the same worker while it has
   * capacity. Called only when there is a choice.
   */
  affinity?: () => string;
  /** The only worker that can run it, by its process id; absent: any. */
  onlyWorkerId?: string;
  /** The id in the response's body, if it is not the request id. */
  responseId?: string;
  /** Work between the admission and the queue. `payload` then only stands for what it returns. */
  preparation?: JobPreparation;
  /** Passed to the admission steps without inspection. */
  quote?: unknown;
  /** This replica does the work itself: the row is written, the queue is not used. */
  isDirect?: boolean;
}

export interface AdmissionOptions {
  jobs: JobsRepository;
  closer: JobCloser;
  cipher: PayloadCipher;
  tickets: ResultTickets;
  transport: QueueTransport;
  logger: Logger;
  /** Maximum number of waiting jobs per model. */
  queueLimit: number;
  /** How long a job whose caller waits may be expected to wait, in ms, at most half of its deadline; default: only that half. */
  maxWaitMs?: number;
  /** Jobs of a model that end per ms; null: not known. Default: never known. */
  rateOf?: (modelId: string) => number | null;
  /** Default: jobs of a model run in the order of their arrival. */
  turns?: AccountTurns;
  /** Run in order in the transaction of the row. */
  steps?: readonly AdmissionStep[];
  /** Called once for every request; must not throw. */
  onDecision?: (decision: AdmissionDecision) => void;
  /** Called for every job when its row is written, with its quote; must not throw. */
  onWritten?: (job: AdmittedJob, quote: unknown) => void;
  /** Remaining time that a request may wait for database and queue; default: unlimited. */
  budgetOf?: (requestId: string) => StoreBudget;
  /** `traceparent` of a traced request. */
  traceOf?: (requestId: string) => string | undefined;
  /** Default: a new instance. */
  abandonedAdmissions?: AbandonedAdmissions;
}

/** Whether a request was admitted: `admitted`, or the error code of the refusal. */
export interface AdmissionDecision {
  modality: string;
  modelId: string;
  reason: 'admitted' | ErrorCode;
}

/** What an admission writes. */
interface JobToAdmit {
  row: NewJob;
  media: NewMediaJob | undefined;
  admission: Admission;
}

/** A slow or unavailable database must not keep callers waiting turn after turn. */
const groups = { lanes: 4, max: 32, maxWaitMs: 5_000 };

/**
 * Admits requests: the row and what the steps add in one transaction, then the queue. Concurrent requests share a
 * transaction.
 */
export class AdmissionService {
  private readonly limit: QueueLimit;
  private readonly group: GroupCommit<JobToAdmit, AdmittedJob>;
  private readonly abandonedAdmissions: AbandonedAdmissions;
  /** Requests whose transaction may have committed although it failed. */
  private readonly uncertain = new Set<string>();

  constructor(private readonly options: AdmissionOptions) {
    const { queueLimit: limit, rateOf } = options;
    this.limit = new QueueLimit({ producer: options.transport.producer, limit, rateOf });
    this.abandonedAdmissions = options.abandonedAdmissions ?? new AbandonedAdmissions(options);
    this.group = new GroupCommit<JobToAdmit, AdmittedJob>(
      (jobs) => this.admit(jobs),
      ({ row }) => row.requestId,
      groups,
    );
  }

  /**
   * Rejects with `MODEL_AT_CAPACITY` when too many jobs wait or it would wait for too long, with a step's own error, as the preparation does, and with
   * `SERVICE_UNAVAILABLE` when database or queue do not accept the job; nothing stays open then.
   */
  async open(request: OpenRequest): Promise<AdmittedJob> {
    try {
      const job = await this.admitNow(request);
      this.decided(request, 'admitted');
      return job;
    } catch (error) {
      this.decided(request, PlatformError.from(error).code);
      throw error;
    }
  }

  private async admitNow(request: OpenRequest): Promise<AdmittedJob> {
    if (request.isDirect === true) {
      const job = await this.insertHolding(request);
      this.options.onWritten?.(job, request.quote);
      return job;
    }
    const position = await this.inTime(request, this.takePosition(request), ({ settle }) => settle());
    try {
      const job = await this.insertHolding(request);
      this.options.onWritten?.(job, request.quote);
      const prepared = await this.prepareOrAbandon(request, job);
      await this.enqueueOrAbandon(request, { ...job, ...prepared });
      return job;
    } finally {
      position.settle();
    }
  }

  private inTime<Result>(
    { requestId }: OpenRequest,
    work: Promise<Result>,
    undo?: (late: Result) => void,
  ): Promise<Result> {
    return this.options.budgetOf?.(requestId).within(work, undo) ?? work;
  }

  private decided({ definition, modelId }: OpenRequest, reason: AdmissionDecision['reason']): void {
    this.options.onDecision?.({ modality: definition.modality, modelId, reason });
  }

  private async takePosition({
    definition,
    modelId,
    caller,
    replyTo,
    deadlineMs,
  }: OpenRequest): Promise<QueuePosition> {
    const { modality, policy } = definition;
    const turn = this.options.turns?.turnOf(caller);
    // Nobody waits for an async job.
    const maxWaitMs =
      replyTo === null
        ? undefined
        : Math.min(this.options.maxWaitMs ?? Infinity, (deadlineMs ?? policy.deadlineMs) / 2);
    try {
      this.options.transport.producer.requireRoom();
      return await this.limit.take({ modality, modelId, turn, maxWaitMs });
    } catch (error) {
      return throwUnavailable(error);
    }
  }

  /** No connection of the database is held meanwhile. */
  private async prepareOrAbandon(request: OpenRequest, { deadlineAtMs }: AdmittedJob): Promise<PreparedJob> {
    const { preparation, payload, bounds, requestId, definition, onlyWorkerId } = request;
    if (preparation === undefined) return { payload, deadlineAtMs };
    const deadlineMs = request.deadlineMs ?? definition.policy.deadlineMs;
    try {
      const complete = await preparation.complete();
      const stored = storePrepared(
        { requestId, payload: complete, bounds, onlyWorkerId, deadlineMs },
        this.options,
      ).catch(throwUnavailable);
      return await this.inTime(request, stored);
    } catch (error) {
      const abandoned = { ...this.abandonedAdmission(request), isCancelled: preparation.disconnected.aborted };
      await this.inTime(request, this.abandonedAdmissions.close(abandoned)).catch(() => undefined);
      throw error;
    }
  }

  private async enqueueOrAbandon(request: OpenRequest, job: AdmittedJob & PreparedJob): Promise<void> {
    try {
      await this.inTime(request, this.enqueue(request, job));
    } catch (error) {
      const { requestId, modelId } = job;
      this.options.logger.warn({ requestId, modelId, error }, 'the queue did not take the job');
      // The queue may have accepted it and lost the acknowledgement: if it runs, its result finds a closed row.
      await this.inTime(request, this.abandonedAdmissions.close(this.abandonedAdmission(request))).catch(
        () => undefined,
      );
      throw unavailable(error);
    }
  }

  private abandonedAdmission({ requestId, definition, modelId, deadlineMs }: OpenRequest): AbandonedAdmission {
    const { modality, policy } = definition;
    return { requestId, modality, modelId, deadlineMs: deadlineMs ?? policy.deadlineMs };
  }

  /** Once the row exists, closing the job corrects the reserved tokens. */
  private async insertHolding(request: OpenRequest): Promise<AdmittedJob> {
    const { tokenReservation: reservation = null } = request;
    const held = reservation?.hold() === true ? reservation : null;
    const written = this.group.add(this.newJob(request, held));
    return this.hearOf(request, written, () => held?.release());
  }

  /** `onNothing` is called when it is certain that no row was or will be written; possibly after the rejection. */
  private async hearOf(
    request: OpenRequest,
    written: Promise<AdmittedJob>,
    onNothing: () => void,
  ): Promise<AdmittedJob> {
    const { requestId } = request;
    try {
      const job = await this.inTime(request, written);
      this.uncertain.delete(requestId);
      return job;
    } catch (error) {
      // A refused retry says nothing about the attempt before it, which may have been written.
      if (isRefusal(error) && !this.uncertain.has(requestId)) {
        onNothing();
        throw error;
      }
      // The caller need not wait for a database that is unavailable.
      void this.closeIfWritten(request, written, onNothing);
      throw error instanceof BudgetSpent ? error : unavailable(error);
    }
  }

  /** Cleans up whatever may be written, now or later, for a request whose caller was told that it is not admitted. */
  private async closeIfWritten(
    request: OpenRequest,
    written: Promise<AdmittedJob>,
    onNothing: () => void,
  ): Promise<void> {
    const isWritten = await written.then(
      () => true,
      () => false,
    );
    const isUncertain = this.uncertain.delete(request.requestId) && !isWritten;
    if (isWritten || isUncertain)
      this.abandonedAdmissions.closeLater({ ...this.abandonedAdmission(request), isUncertain });
    else onNothing();
  }

  private newJob(request: OpenRequest, reservedTokens: ReservedTokens | null): JobToAdmit {
    const { requestId, caller, definition, modelId, payload, bounds, stream, replyTo, quote, media, preparation } =
      request;
    const { onlyWorkerId } = request;
    const { modality, policy } = definition;
    const isPreparing = preparation !== undefined;
    const deadlineMs = isPreparing ? preparationDeadlineMs(preparation) : (request.deadlineMs ?? policy.deadlineMs);
    const stored: StoredRequest = { payload, bounds, onlyWorkerId };
    const ciphertext = this.options.cipher.encrypt(requestId, stored);
    const names = { requestId, modality, modelId, responseId: request.responseId };
    const row = { ...names, caller, stream, replyTo, deadlineMs, isPreparing, ciphertext, reservedTokens };
    const { accountId, apiKeyId } = caller;
    return { row, media, admission: { job: { requestId, accountId, apiKeyId, modality, modelId }, payload, quote } };
  }

  /** Writes the rows, and what the steps add to them, of all requests that are not refused. */
  private async admit(jobs: readonly JobToAdmit[]): Promise<(AdmittedJob | PlatformError)[]> {
    try {
      return await this.write(jobs);
    } catch (error) {
      if (!isRolledBack(error)) for (const { row } of jobs) this.uncertain.add(row.requestId);
      throw error;
    }
  }

  private write(wanted: readonly JobToAdmit[]): Promise<(AdmittedJob | PlatformError)[]> {
    const { jobs, steps = [] } = this.options;
    return jobs.transaction(async (transaction) => {
      const refusals = new Map<string, PlatformError>();
      const left = () => wanted.filter(({ row }) => !refusals.has(row.requestId));
      for (const step of steps) {
        const admissions = left().map(({ admission }) => admission);
        const decisions = admissions.length === 0 ? [] : await step.admit(transaction, admissions);
        for (const [position, refusal] of decisions.entries()) {
          const admission = admissions[position];
          if (refusal !== null && admission !== undefined) refusals.set(admission.job.requestId, refusal);
        }
      }
      const admitted = await this.writeRows(transaction, left());
      return wanted.map(({ row: { requestId } }) => refusals.get(requestId) ?? admittedOf(admitted, requestId));
    });
  }

  private async writeRows(transaction: JobTransaction, jobs: readonly JobToAdmit[]): Promise<Map<string, AdmittedJob>> {
    if (jobs.length === 0) return new Map();
    const rows = jobs.map(({ row }) => row);
    const isLast = jobs.every(({ media }) => media === undefined);
    const inserted = await this.options.jobs.insert(rows, isLast ? (transaction.last ?? transaction) : transaction);
    const admitted = new Map(inserted.map((job) => [job.requestId, job] as const));
    for (const { row, media } of jobs) {
      if (media === undefined) continue;
      await MediaJobsRepository.insert(transaction, admittedOf(admitted, row.requestId), media);
    }
    return admitted;
  }

  private async enqueue(request: OpenRequest, job: AdmittedJob & PreparedJob): Promise<void> {
    const { definition, bounds, replyTo, stream, affinity, onlyWorkerId } = request;
    const { requestId, modality, modelId, deadlineAtMs, payload } = job;
    const trace = this.options.traceOf?.(requestId);
    const envelope = {
      requestId,
      modality,
      modelId,
      attempt: 1,
      deadlineAtMs,
      replyTo,
      stream,
      ...(trace !== undefined && { trace }),
      ticket: this.options.tickets.issue({ requestId, attempt: 1, modality, modelId }, bounds),
      payload,
    };
    const routeKey = affinity === undefined ? undefined : () => routeKeyOf(affinity());
    const turn = this.options.turns?.turnOf(request.caller);
    await this.options.transport.producer.enqueue(definition, envelope, { routeKey, turn, onlyWorkerId });
  }
}

function admittedOf(admitted: ReadonlyMap<string, AdmittedJob>, requestId: string): AdmittedJob {
  const job = admitted.get(requestId);
  if (job === undefined) throw new Error(`The job ${requestId} was not admitted.`);
  return job;
}

/**
 * An error of the database itself left nothing behind; for anything else, above all lost connections, that is unknown.
 */
function isRolledBack(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^(08|57)/.test(code);
}

/** A deliberate refusal; the request may be repeated under the same id. */
function isRefusal(error: unknown): boolean {
  return error instanceof PlatformError && !(error instanceof BudgetSpent);
}

function throwUnavailable(error: unknown): never {
  throw error instanceof PlatformError ? error : unavailable(error);
}

function unavailable(cause: unknown): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', 'The service cannot take requests at the moment.', null, { cause });
}
