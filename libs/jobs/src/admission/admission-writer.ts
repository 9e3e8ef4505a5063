import type { PlatformError } from '#common';
import { Injectable } from '#platform/injection';
import type { ReservedTokens } from '#rate-limit';
import type { Admission, AdmittedJob, JobTransaction } from '../lifecycle/job-states.js';
import { JobsRepository, type NewJob } from '../lifecycle/jobs.repository.js';
import type { NewMediaJob } from '../media/media-job.js';
import { MediaJobsRepository } from '../media/media-jobs.repository.js';
import { AdmissionSteps } from './admission-steps.js';
import { AmbiguousCommits } from './ambiguous-commits.js';
import { GroupCommit } from './group-commit.js';
import { preparationDeadlineMs, type PreparedJob, storePrepared } from './job-preparation.js';
import { abandonedAdmissionOf, type OpenRequest } from './open-request.js';
import { PayloadCipher } from './payload-cipher.js';
import type { StoredRequest } from './stored-request.js';

/** A job whose row is about to be written. */
interface PendingAdmission {
  row: NewJob;
  media: NewMediaJob | undefined;
  admission: Admission;
}

/** Bounds how long the client of one request waits. */
export type BoundWait = <Result>(work: Promise<Result>) => Promise<Result>;

/** A slow or unavailable database must not keep clients waiting turn after turn. */
const groups = { lanes: 4, max: 32, maxWaitMs: 5_000 };

/** Writes the row of a job and what the admission steps add to it. Concurrent requests share a transaction. */
@Injectable()
export class AdmissionWriter {
  private readonly group: GroupCommit<PendingAdmission, AdmittedJob>;

  constructor(
    private readonly jobs: JobsRepository,
    private readonly cipher: PayloadCipher,
    private readonly steps: AdmissionSteps,
    private readonly ambiguousCommits: AmbiguousCommits,
  ) {
    this.group = new GroupCommit<PendingAdmission, AdmittedJob>(
      (admissions) => this.write(admissions),
      ({ row }) => row.requestId,
      groups,
    );
  }

  /**
   * Rejects as `AmbiguousCommits.awaitInsert` does. The row takes over the tokens that the rate limit reserved: once it
   * exists, closing the job corrects them.
   */
  async insert(request: OpenRequest, bound: BoundWait): Promise<AdmittedJob> {
    const { tokenReservation = null } = request;
    const reservation = tokenReservation?.hold() === true ? tokenReservation : null;
    const written = this.group.add(this.pendingAdmissionOf(request, reservation));
    return this.ambiguousCommits.awaitInsert({
      job: abandonedAdmissionOf(request),
      written,
      writtenInTime: bound(written),
      onNotWritten: () => reservation?.release(),
    });
  }

  /** Replaces the payload by what the preparation returned; see `storePrepared`. */
  completePreparation(request: OpenRequest, payload: object): Promise<PreparedJob> {
    const { requestId, bounds, definition, onlyWorkerId } = request;
    const deadlineMs = request.deadlineMs ?? definition.policy.deadlineMs;
    const prepared = { requestId, payload, bounds, onlyWorkerId, deadlineMs };
    return storePrepared(prepared, { jobs: this.jobs, cipher: this.cipher });
  }

  private pendingAdmissionOf(request: OpenRequest, reservedTokens: ReservedTokens | null): PendingAdmission {
    const { requestId, caller, definition, modelId, payload, bounds, stream, replyTo, quote, media, preparation } =
      request;
    const { onlyWorkerId } = request;
    const { modality, policy } = definition;
    const isPreparing = preparation !== undefined;
    const deadlineMs = isPreparing ? preparationDeadlineMs(preparation) : (request.deadlineMs ?? policy.deadlineMs);
    const stored: StoredRequest = { payload, bounds, onlyWorkerId };
    const ciphertext = this.cipher.encrypt(requestId, stored);
    const names = { requestId, modality, modelId, responseId: request.responseId };
    const row = { ...names, caller, stream, replyTo, deadlineMs, isPreparing, ciphertext, reservedTokens };
    const { accountId, apiKeyId } = caller;
    return { row, media, admission: { job: { requestId, accountId, apiKeyId, modality, modelId }, payload, quote } };
  }

  /** Resolves to the job or the refusal of each admission. */
  private async write(admissions: readonly PendingAdmission[]): Promise<(AdmittedJob | PlatformError)[]> {
    try {
      return await this.jobs.transaction((transaction) => this.writeAll(transaction, admissions));
    } catch (error) {
      this.ambiguousCommits.record(
        error,
        admissions.map(({ row }) => row.requestId),
      );
      throw error;
    }
  }

  private async writeAll(
    transaction: JobTransaction,
    pending: readonly PendingAdmission[],
  ): Promise<(AdmittedJob | PlatformError)[]> {
    const refusals = new Map<string, PlatformError>();
    const remaining = () => pending.filter(({ row }) => !refusals.has(row.requestId));
    for (const step of this.steps.list) {
      const admissions = remaining().map(({ admission }) => admission);
      const decisions = admissions.length === 0 ? [] : await step.admit(transaction, admissions);
      for (const [position, refusal] of decisions.entries()) {
        const admission = admissions[position];
        if (refusal !== null && admission !== undefined) refusals.set(admission.job.requestId, refusal);
      }
    }
    const admitted = await this.writeRows(transaction, remaining());
    return pending.map(({ row: { requestId } }) => refusals.get(requestId) ?? admittedOf(admitted, requestId));
  }

  private async writeRows(
    transaction: JobTransaction,
    pending: readonly PendingAdmission[],
  ): Promise<Map<string, AdmittedJob>> {
    if (pending.length === 0) return new Map();
    const rows = pending.map(({ row }) => row);
    const isLast = pending.every(({ media }) => media === undefined);
    const inserted = await this.jobs.insert(rows, isLast ? (transaction.last ?? transaction) : transaction);
    const admitted = new Map(inserted.map((job) => [job.requestId, job] as const));
    for (const { row, media } of pending) {
      if (media === undefined) continue;
      await MediaJobsRepository.insert(transaction, admittedOf(admitted, row.requestId), media);
    }
    return admitted;
  }
}

function admittedOf(admitted: ReadonlyMap<string, AdmittedJob>, requestId: string): AdmittedJob {
  const job = admitted.get(requestId);
  if (job === undefined) throw new Error(`The job ${requestId} was not admitted.`);
  return job;
}
