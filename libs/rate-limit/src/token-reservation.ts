import { Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { LimitStore } from './store/limit-store.js';
import { installationWindow, keyWindow, modelWindow } from './window-keys.js';

/** Position of a request's tokens in its windows. */
export interface ReservedTokens {
  slot: number;
  tokens: number;
}

/**
 * Tokens of the minute reserved for one request. The request holds them until its response is sent, its admission while
 * it lasts, and its job for good: from then on, closing the job corrects them. Tokens that nothing holds are refunded.
 */
export class TokenReservation implements ReservedTokens {
  /** The first holder is the request. */
  private replicas = 1;

  constructor(
    readonly slot: number,
    readonly tokens: number,
    private readonly refund: () => void,
  ) {}

  /** Returns false when they were refunded before. */
  hold(): boolean {
    if (this.replicas === 0) return false;
    this.replicas += 1;
    return true;
  }

  release(): void {
    this.replicas -= 1;
    if (this.replicas === 0) this.refund();
  }
}

/** Corrects reservations. An uncorrected one stays until its slot leaves the window. */
@Injectable()
export class TokenCorrector {
  constructor(
    private readonly store: LimitStore,
    private readonly logger: Logger,
  ) {}

  /** `used` is the actual usage. Never rejects: a minute later the reservation is gone by itself. */
  async correct(
    job: { accountId: string; apiKeyId: string; modelId: string },
    { slot, tokens }: ReservedTokens,
    used: number,
  ): Promise<void> {
    if (used === tokens) return;
    try {
      await this.store.correct([modelWindow(job, job), keyWindow(job), installationWindow], slot, used - tokens);
    } catch (error) {
      this.logger.warn({ error }, 'Reserved tokens could not be corrected.');
    }
  }
}
