import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '#platform/logging';
import type { SecretBox } from '#platform/encryption';
import type { IdempotencyRepository, KeyedRequest } from './idempotency.repository.js';
import { packResponse, type StoredResponse } from './stored-response.js';

/**
 * How a response ended. `answered`: successfully and completely. `failed`: with an error, instead of the response or
 * after a part of it. `cut`: the client disconnected.
 */
export type ClaimEnding = 'answered' | 'failed' | 'cut';

/** Attempts to store a response, and the pauses between them, in ms; a database may be unavailable for a minute. */
const pausesMs = [200, 1_000, 4_000, 10_000, 20_000, 30_000];

export interface KeyClaimDependencies {
  repository: IdempotencyRepository;
  box: SecretBox;
  logger: Logger;
  /** Called when the claim ends: nothing renews it any more. */
  onEnd: (ending: ClaimEnding) => void;
}

/** The row that a response is bound to. */
export function answerPlace({ accountId, key }: KeyedRequest, requestId: string): string {
  return `idempotency/${accountId}/${key}/${requestId}`;
}

/** The right of one request to be the first with its key. */
export class KeyClaim {
  private ended: Promise<void> | null = null;

  constructor(
    readonly request: KeyedRequest,
    private readonly dependencies: KeyClaimDependencies,
  ) {}

  /**
   * Ends the claim; only the first call counts. `answer` is null when there is none, or it is too large to store. A
   * failed response is stored for admitted requests, since they may have cost something; everything else frees the key
   * immediately. Resolves when that is written or was abandoned, and never rejects.
   */
  end(ending: ClaimEnding, answer: StoredResponse | null): Promise<void> {
    this.ended ??= this.write(ending, answer).finally(() => this.dependencies.onEnd(ending));
    return this.ended;
  }

  private async write(ending: ClaimEnding, answer: StoredResponse | null): Promise<void> {
    const { logger } = this.dependencies;
    const { requestId } = this.request;
    let sealed: Uint8Array<ArrayBuffer> | null = null;
    for (const pauseMs of pausesMs) {
      try {
        // Packed once: a large response takes a while.
        sealed ??= await this.seal(answer);
        return await this.store(ending, sealed);
      } catch (error) {
        logger.warn({ requestId, error }, 'the answer to a request with an idempotency key is not kept yet');
        await sleep(pauseMs, undefined, { ref: false });
      }
    }
    logger.error({ requestId }, 'the answer to a request with an idempotency key is lost');
  }

  private async seal(answer: StoredResponse | null): Promise<Uint8Array<ArrayBuffer> | null> {
    return (
      answer &&
      this.dependencies.box.seal(answerPlace(this.request, this.request.requestId), await packResponse(answer))
    );
  }

  private async store(ending: ClaimEnding, sealed: Uint8Array<ArrayBuffer> | null): Promise<void> {
    const { repository } = this.dependencies;
    const { request } = this;
    if (ending === 'answered') await repository.keep(request, sealed);
    else await repository.release(request, ending, sealed);
  }
}
