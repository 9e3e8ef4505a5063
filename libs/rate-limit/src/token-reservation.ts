import type { LimitStore } from './store/limit-store.js';
import { installationWindow, keyWindow, modelWindow } from './window-keys.js';

/** Where the tokens of a request stand in its windows. */
export interface ReservedTokens {
  slot: number;
  tokens: number;
}

/**
 * Tokens reserved of the minute for one request. The request holds them until its answer is out, its admission while it
 * lasts, and its job for good: from then on the job's closing puts them right. Those that nobody holds are given back.
 */
export class TokenReservation implements ReservedTokens {
  /** The first is the request. */
  private replicas = 1;

  constructor(
    readonly slot: number,
    readonly tokens: number,
    private readonly refund: () => void,
  ) {}

  /** False when they were given back before. */
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

/** Puts reservations right. One that nobody corrects stays as it was until its slot leaves the window. */
export class TokenCorrector {
  constructor(
    private readonly store: Pick<LimitStore, 'correct'>,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** `used` is what was used in truth. Never rejects: a minute later the reservation is gone by itself. */
  async correct(
    job: { accountId: string; apiKeyId: string; modelId: string },
    { slot, tokens }: ReservedTokens,
    used: number,
  ): Promise<void> {
    if (used === tokens) return;
    try {
      await this.store.correct([modelWindow(job, job), keyWindow(job), installationWindow], slot, used - tokens);
    } catch (error) {
      this.onFailure(error);
    }
  }
}
