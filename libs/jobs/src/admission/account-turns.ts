import { createHmac } from 'node:crypto';
import { deriveKey } from '#common';
import type { SecretKeys } from '#platform/encryption';
import type { FairTurn } from '#queue';
import { turnWeights } from '#rate-limit';

/** The account that a job belongs to. */
export interface TurnTaker {
  readonly accountId: string;
  /** Absent: not known here; it then has the weight of the default tier. */
  readonly tier?: keyof typeof turnWeights;
}

/**
 * Names accounts to the queue, where the waiting jobs of one model take turns. The name is a keyed hash: a reader of
 * the store learns which jobs belong together, but not to whom.
 */
export class AccountTurns {
  private readonly key: Buffer;

  constructor(
    secretKeys: SecretKeys,
    /** False when jobs run in the order of their arrival. */
    private readonly isFair = true,
  ) {
    this.key = deriveKey(typeof secretKeys === 'string' ? secretKeys : secretKeys[0], 'account turns');
  }

  turnOf({ accountId, tier = 'default' }: TurnTaker): FairTurn | undefined {
    if (!this.isFair) return undefined;
    const account = createHmac('sha256', this.key).update(accountId).digest('base64url').slice(0, 22);
    return { account, weight: turnWeights[tier] };
  }
}
