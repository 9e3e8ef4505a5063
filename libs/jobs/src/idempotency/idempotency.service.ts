import { setTimeout as sleep } from 'node:timers/promises';
import { LedgerService } from '#billing';
import { callerRequestId, PlatformError } from '#common';
import { ApiConfig } from '#platform/config';
import { SecretBox } from '#platform/encryption';
import { Inject, Injectable, Optional } from '#platform/injection';
import { Logger } from '#platform/logging';
import type { Admission, AdmissionStep, JobTransaction } from '../lifecycle/job-states.js';
import { EndedRequests } from './ended-requests.js';
import { type HeldKey, IdempotencyRepository, type KeyedRequest } from './idempotency.repository.js';
import { answerPlace, type ClaimEnding, KeyClaim } from './key-claim.js';
import { decideAboutKey } from './key-decision.js';
import { type StoredResponse, unpackResponse } from './stored-response.js';

/** How a lost response follows from its job. */
export type ResponseOfJob = (job: { requestId: string; queueId: string; modelId: string }) => object;

/** A request with a key is either the first one, or gets the response of the first one. */
export type KeyOpening = { claim: KeyClaim } | { answer: StoredResponse; isCut: boolean };

export interface IdempotencyTiming {
  /** How long a request waits for an equal one in progress before it is refused, in ms. */
  waitMs?: number;
  /** How long a replica may be silent before the rows it left decide, in ms. */
  reservationMs?: number;
}

/** Pauses between two checks of a request in progress, in ms; the last one repeats. */
const firstPauseMs = 20;
const longestPauseMs = 200;

/**
 * Implements `Idempotency-Key`: of all requests of an account with one key and one body, one runs, and the others get
 * its response. The primary key of a row decides which one. A fence keeps it so, whatever dies: the transaction that
 * admits a job fails unless its request still owns the key. An admission step of every job, free for those without a
 * key.
 */
@Injectable()
export class IdempotencyService implements AdmissionStep {
  private readonly claims = new Map<string, KeyClaim>();
  private readonly ended = new EndedRequests();
  private readonly box: SecretBox;
  private readonly waitMs: number;
  private readonly reservationMs: number;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly repository: IdempotencyRepository,
    @Inject(ApiConfig) { secretKeys }: Pick<ApiConfig, 'secretKeys'>,
    private readonly ledger: LedgerService,
    private readonly logger: Logger,
    @Optional() { waitMs = 1_000, reservationMs = 15_000 }: IdempotencyTiming = {},
  ) {
    this.box = new SecretBox(secretKeys, 'stored responses');
    this.waitMs = waitMs;
    this.reservationMs = reservationMs;
  }

  /**
   * Rejects with `INVALID_REQUEST` when the key came with another body, `IDEMPOTENCY_KEY_IN_USE` when the first request
   * is in progress and stays so for a second, `IDEMPOTENT_ANSWER_LOST` when it was charged and its response is gone.
   */
  async open(request: KeyedRequest, responseOfJob?: ResponseOfJob): Promise<KeyOpening> {
    const { repository } = this;
    const giveUpAtMs = performance.now() + this.waitMs;
    if (await repository.claim(request, this.reservationMs)) return this.begin(request);
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const held = await repository.find(request);
      if (held === null) {
        // The first request just freed the key.
        if (await repository.claim(request, this.reservationMs)) return this.begin(request);
        continue;
      }
      const opening = await this.openingOf(request, held, responseOfJob);
      if (opening !== null) return opening;
      if (performance.now() + pauseMs > giveUpAtMs) {
        throw new PlatformError(
          'IDEMPOTENCY_KEY_IN_USE',
          'The first request with this Idempotency-Key still runs. Its answer will be here when it has ended.',
          'Idempotency-Key',
        );
      }
      await sleep(pauseMs);
    }
  }

  /**
   * Refuses requests that no longer own their key: another request took it over, or their own claim has ended. The key
   * of a request covers its input jobs.
   */
  async admit(transaction: JobTransaction, admissions: readonly Admission[]): Promise<(PlatformError | null)[]> {
    const callers = admissions.map(({ job }) => callerRequestId(job.requestId));
    const claims = [...new Set(callers)].flatMap((requestId) => this.claims.get(requestId)?.request ?? []);
    const admitted = claims.length === 0 ? null : await this.repository.admit(transaction, claims);
    const claimed = new Set(claims.map(({ requestId }) => requestId));
    return callers.map((requestId) => {
      const holds = claimed.has(requestId) ? admitted?.has(requestId) === true : !this.ended.has(requestId);
      return holds ? null : overtaken();
    });
  }

  /** Abandons what is not written within `graceMs`. */
  async close(graceMs = 2_000): Promise<void> {
    const left = [...this.claims.values()].map((claim) => claim.end('cut', null));
    await Promise.race([Promise.all(left), sleep(graceMs, undefined, { ref: false })]);
    clearInterval(this.timer);
  }

  /** Null while the first request is in progress. */
  private async openingOf(
    request: KeyedRequest,
    held: HeldKey,
    responseOfJob?: ResponseOfJob,
  ): Promise<KeyOpening | null> {
    const { repository, ledger } = this;
    const decision = await decideAboutKey(held, async () => ((await ledger.chargeOf(held.requestId)) ?? 0n) > 0n);
    if (decision === 'run') {
      return (await repository.takeOver(request, held, this.reservationMs)) ? this.begin(request) : null;
    }
    if (Buffer.compare(held.fingerprint, request.fingerprint) !== 0) {
      const message = 'This Idempotency-Key was used for another request: another route, or another body.';
      throw new PlatformError('INVALID_REQUEST', message, 'Idempotency-Key');
    }
    if (decision === 'wait') return null;
    if (decision === 'replay') return { answer: await this.unseal(request, held), isCut: held.state === 'cut' };
    if (decision === 'remake' && responseOfJob !== undefined && held.job !== null) {
      const { requestId } = held;
      const { modelId, queueId } = held.job;
      return { answer: remade(responseOfJob({ requestId, modelId, queueId: queueId ?? requestId })), isCut: false };
    }
    throw responseLost(held.requestId);
  }

  private async unseal(request: KeyedRequest, held: HeldKey): Promise<StoredResponse> {
    try {
      const { answer } = held;
      if (answer !== null) return await unpackResponse(this.box.open(answerPlace(request, held.requestId), answer));
    } catch (error) {
      this.logger.warn({ requestId: held.requestId, error }, 'a kept answer cannot be opened');
    }
    throw responseLost(held.requestId);
  }

  private begin(request: KeyedRequest): KeyOpening {
    const { repository, box, logger } = this;
    const { requestId } = request;
    const claim = new KeyClaim(request, { repository, box, logger, onEnd: (ending) => this.forget(requestId, ending) });
    this.claims.set(requestId, claim);
    this.timer ??= setInterval(() => void this.renew(), this.reservationMs / 3).unref();
    return { claim };
  }

  private forget(requestId: string, ending: ClaimEnding): void {
    this.claims.delete(requestId);
    if (ending !== 'answered') this.ended.add(requestId);
    if (this.claims.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private async renew(): Promise<void> {
    const { repository, logger } = this;
    try {
      await repository.hold(
        [...this.claims.values()].map(({ request }) => request),
        this.reservationMs,
      );
    } catch (error) {
      // The fence and the rows of the jobs remain as protection.
      logger.warn({ error }, 'the holds of idempotency keys could not be renewed');
    }
  }
}

function overtaken(): PlatformError {
  const message = 'This request took so long to begin that another one with its Idempotency-Key has begun.';
  return new PlatformError('IDEMPOTENCY_KEY_IN_USE', message, 'Idempotency-Key');
}

function remade(body: object): StoredResponse {
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  return { status: 200, headers, body: Buffer.from(JSON.stringify(body)) };
}

function responseLost(requestId: string): PlatformError {
  return new PlatformError(
    'IDEMPOTENT_ANSWER_LOST',
    `The first request with this Idempotency-Key (${requestId}) ran and was charged, but its answer is gone. A new key runs it again.`,
    'Idempotency-Key',
  );
}
