import type { LimitStore } from './store/limit-store.js';
import { installationWindow, keyWindow, modelWindow } from './window-keys.js';

/** Where the tokens of a request stand in its windows. */
export interface ReservedTokens {
  slot: number;
  tokens: number;
}

/** Tokens reserved of the minute for one request. Whoever admits its job keeps them; else they are given back. */
export class TokenReservation implements ReservedTokens {
  private taken = false;

  constructor(
    readonly slot: number,
    readonly tokens: number,
  ) {}

  /** True once a job answers for the tokens: from then on its closing puts them right. */
  get kept(): boolean {
    return this.taken;
  }

  keep(): void {
    this.taken = true;
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
