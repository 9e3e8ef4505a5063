import { everything, type LimitOverride, plainRequests, targetOfModel } from './limit-override.js';
import { type LimitClass, type Limits, limitTable, type LimitTier } from './limit-table.js';

/** Limits without an operator's override. */
export interface StandingLimits {
  /** Of an account, for requests that run no model. */
  plain: Limits;
  /** Of every key. */
  key: Limits;
  /** Of the whole installation. */
  installation: Limits;
  /** Requests that an account of each tier, and a key, may have open at once. Default: any number. */
  concurrent?: Record<LimitTier | 'key', number | null>;
}

/** The limits at one moment: the default table with the operator's overrides. */
export class LimitSnapshot {
  private readonly overrides: ReadonlyMap<string, LimitOverride>;

  constructor(
    overrides: readonly LimitOverride[],
    private readonly standing: StandingLimits,
  ) {
    this.overrides = new Map(overrides.map((set) => [`${set.accountId ?? set.apiKeyId ?? ''} ${set.target}`, set]));
  }

  /**
   * Returns the limits of an account for one model. The narrower override wins: the model's, the class's, then that of
   * everything.
   */
  ofModel(
    caller: { accountId: string; tier: LimitTier },
    { modelId, limitClass }: { modelId: string; limitClass: LimitClass },
  ): Limits {
    const table = limitTable[limitClass][caller.tier];
    const model = limitClass === 'retrieve' ? [] : [targetOfModel(modelId)];
    const { requests, tokens } = this.over(table, caller.accountId, [everything, limitClass, ...model]);
    // An override changes a limit; it adds none where tokens are not counted.
    return { requests, tokens: table.tokens === null ? null : tokens };
  }

  /**
   * Returns what a key can use of a model at most: the narrowest of all limits in effect, requests and tokens
   * separately.
   */
  narrowestOfModel(
    caller: { accountId: string; apiKeyId: string; tier: LimitTier },
    use: { modelId: string; limitClass: LimitClass },
  ): Limits {
    const ofModel = this.ofModel(caller, use);
    const all = [ofModel, this.ofKey(caller.apiKeyId), this.ofInstallation()];
    return {
      requests: min(all.map(({ requests }) => requests)),
      // A request to a model without token counting uses none.
      tokens: ofModel.tokens === null ? null : min(all.map(({ tokens }) => tokens)),
    };
  }

  ofPlainRequests(accountId: string): Limits {
    const { requests } = this.over(this.standing.plain, accountId, [everything, plainRequests]);
    return { requests, tokens: null };
  }

  ofKey(apiKeyId: string): Limits {
    return this.over(this.standing.key, apiKeyId, [everything]);
  }

  ofInstallation(): Limits {
    return this.over(this.standing.installation, '', [everything]);
  }

  /** Returns how many requests an account and a key may have open at once; null: any number. */
  concurrentOf({ accountId, apiKeyId, tier }: { accountId: string; apiKeyId: string; tier: LimitTier }): {
    account: number | null;
    key: number | null;
  } {
    const { concurrent } = this.standing;
    const setFor = (subject: string) => this.overrides.get(`${subject} ${everything}`)?.concurrent;
    return {
      account: setFor(accountId) ?? concurrent?.[tier] ?? null,
      key: setFor(apiKeyId) ?? concurrent?.key ?? null,
    };
  }

  /** The last target wins, separately for each of the two limits. */
  private over(limits: Limits, subject: string, targets: string[]): Limits {
    let { requests, tokens } = limits;
    for (const target of targets) {
      const set = this.overrides.get(`${subject} ${target}`);
      requests = set?.requests ?? requests;
      tokens = set?.tokens ?? tokens;
    }
    return { requests, tokens };
  }
}

function min(amounts: (number | null)[]): number | null {
  const limits = amounts.filter((amount) => amount !== null);
  return limits.length === 0 ? null : Math.min(...limits);
}
