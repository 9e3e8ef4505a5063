import type { Caller } from '#accounts';
import { PlatformError } from '#common';
import type { Logger } from '#platform/logging';
import type { JobDefinition, QueueTransport } from '#queue';
import type { ReservedTokens, TokenReservation } from '#rate-limit';
import type { JobCloser } from './job-closer.js';
import type { AdmissionStep, AdmittedJob } from './job-states.js';
import type { JobsRepository, NewJob } from './jobs.repository.js';
import type { NewMediaJob } from './media/media-job.js';
import { MediaJobsRepository } from './media/media-jobs.repository.js';
import type { PayloadCipher } from './payload-cipher.js';
import { QueueLimit, type QueuePlace } from './queue-limit.js';

/** A request that passed validation and wants to run. */
export interface OpenRequest {
  requestId: string;
  caller: Caller;
  definition: JobDefinition<object, object>;
  modelId: string;
  payload: object;
  /** Ms from now; default: the policy's. */
  deadlineMs?: number;
  /** Mailbox address of this replica; null for async jobs. */
  replyTo: string | null;
  stream: boolean;
  /** What the rate limit reserved for it; kept with the row, so that its closing puts it right. */
  tokenReservation?: TokenReservation | null;
  /** Of a job whose caller does not wait; `replyTo` is null then. */
  media?: NewMediaJob;
  /** Given to the admission steps; nothing here looks into it. */
  quote?: unknown;
}

export interface AdmissionOptions {
  jobs: JobsRepository;
  closer: JobCloser;
  cipher: PayloadCipher;
  transport: QueueTransport;
  logger: Logger;
  /** Jobs that may wait per model. */
  queueLimit: number;
  /** Run in order in the transaction of the row. */
  steps?: readonly AdmissionStep[];
}

/** Lets requests in: the row and what the steps add in one transaction, then the queue. */
export class AdmissionService {
  private readonly limit: QueueLimit;

  constructor(private readonly options: AdmissionOptions) {
    this.limit = new QueueLimit(options.transport.producer, options.queueLimit);
  }

  /**
   * Rejects with `MODEL_AT_CAPACITY` when too many jobs wait, with a step's own error, and with `SERVICE_UNAVAILABLE`
   * when database or queue do not take the job; nothing is left open then.
   */
  async open(request: OpenRequest): Promise<AdmittedJob> {
    const place = await this.takePlace(request);
    try {
      const job = await this.insertHolding(request);
      await this.enqueueOrAbandon(request, job);
      return job;
    } finally {
      place.settle();
    }
  }

  private async takePlace({ definition, modelId }: OpenRequest): Promise<QueuePlace> {
    try {
      return await this.limit.take(definition.modality, modelId);
    } catch (error) {
      throw error instanceof PlatformError ? error : unavailable(error);
    }
  }

  private async enqueueOrAbandon(request: OpenRequest, job: AdmittedJob): Promise<void> {
    try {
      await this.enqueue(request, job);
    } catch (error) {
      await this.abandon(job, error);
      throw unavailable(error);
    }
  }

  /** From the row on, the closing of the job answers for the reserved tokens. */
  private async insertHolding(request: OpenRequest): Promise<AdmittedJob> {
    const { tokenReservation: reservation = null } = request;
    const held = reservation?.hold() === true;
    try {
      return await this.insert(request, held ? reservation : null);
    } catch (error) {
      if (held) reservation?.letGo();
      throw error;
    }
  }

  private async insert(request: OpenRequest, reservedTokens: ReservedTokens | null): Promise<AdmittedJob> {
    const { jobs, cipher, steps = [] } = this.options;
    const { requestId, caller, definition, modelId, payload, stream, replyTo } = request;
    const row: NewJob = {
      requestId,
      caller,
      modality: definition.modality,
      modelId,
      stream,
      replyTo,
      deadlineMs: request.deadlineMs ?? definition.policy.deadlineMs,
      ciphertext: cipher.encrypt(requestId, payload),
      reservedTokens,
    };
    try {
      if (steps.length === 0 && request.media === undefined) return await jobs.insert(row);
      return await jobs.transaction(async (transaction) => {
        const job = await jobs.insert(row, transaction);
        if (request.media !== undefined) await MediaJobsRepository.insert(transaction, job, request.media);
        for (const step of steps) await step.admit(transaction, job, payload, request.quote);
        return job;
      });
    } catch (error) {
      throw error instanceof PlatformError ? error : unavailable(error);
    }
  }

  private async enqueue({ definition, payload, replyTo, stream }: OpenRequest, job: AdmittedJob): Promise<void> {
    const { requestId, modality, modelId, deadlineAtMs } = job;
    await this.options.transport.producer.enqueue(definition, {
      requestId,
      modality,
      modelId,
      attempt: 1,
      deadlineAtMs,
      replyTo,
      stream,
      payload,
    });
  }

  /**
   * Closes the row of a job the queue did not take. The queue may have taken it all the same and lost the answer: the
   * job is removed as well, and should it run, its outcome finds a closed row.
   */
  private async abandon(job: AdmittedJob, error: unknown): Promise<void> {
    const { closer, transport, logger } = this.options;
    const { requestId, modality, modelId } = job;
    logger.warn({ requestId, modelId, error }, 'the queue did not take the job');
    const closing = { requestId, attempt: 1, state: 'failed', errorCode: 'SERVICE_UNAVAILABLE' } as const;
    const results = await Promise.allSettled([
      closer.close({ ...closing, usage: null, executionMs: 0 }),
      transport.producer.remove(modality, modelId, requestId),
    ]);
    if (results[0].status === 'rejected') {
      logger.error({ requestId, error: results[0].reason as unknown }, 'the row stays open until the sweep expires it');
    }
  }
}

function unavailable(cause: unknown): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', 'The service cannot take requests at the moment.', null, { cause });
}
