import { createHash, createHmac } from 'node:crypto';
import { deriveKey } from '#common';
import type { JobEnvelope, JobResult, UsageBounds } from '#queue';
import { canonicalJson, isSignedWith, signResult } from '#queue/signing';
import type { SecretKeys } from '#platform/encryption';

/** One attempt of one job. */
export type TicketedAttempt = Pick<JobResult, 'requestId' | 'attempt' | 'modality' | 'modelId'>;

/** Why a result has no valid ticket. */
export type TicketFault = 'unsigned' | 'unknown-key' | 'forged';

interface TicketKey {
  id: string;
  key: Buffer;
}

/**
 * Creates and checks the tickets that results need. Workers cannot create one: the key is derived from the secret key,
 * which they do not have.
 */
export class ResultTickets {
  private readonly keys: readonly [TicketKey, ...TicketKey[]];

  /** The first key creates tickets, and all keys check them. */
  constructor(secretKeys: SecretKeys) {
    const [first, ...others] = typeof secretKeys === 'string' ? ([secretKeys] as const) : secretKeys;
    this.keys = [ticketKeyOf(first), ...others.map(ticketKeyOf)];
  }

  issue(attempt: TicketedAttempt, bounds: UsageBounds): NonNullable<JobEnvelope['ticket']> {
    const [{ id, key }] = this.keys;
    return { keyId: id, bounds, secret: secretOf(key, attempt, bounds) };
  }

  /** Signs results that the platform itself reports. */
  sign(result: JobResult, bounds: UsageBounds): JobResult {
    return signResult(result, this.issue(result, bounds));
  }

  /** Returns what is wrong with the ticket of a result; null for a valid one of exactly this attempt and model. */
  faultOf(result: JobResult): TicketFault | null {
    const { proof } = result;
    if (typeof proof?.signature !== 'string') return 'unsigned';
    const known = this.keys.find(({ id }) => id === proof.keyId);
    if (known === undefined) return 'unknown-key';
    return isSignedWith(secretOf(known.key, result, proof.bounds), result) ? null : 'forged';
  }
}

function secretOf(
  key: Buffer,
  { requestId, attempt, modality, modelId }: TicketedAttempt,
  bounds: UsageBounds,
): string {
  const text = canonicalJson([requestId, attempt, modality, modelId, bounds]);
  return createHmac('sha256', key).update(text).digest('base64');
}

function ticketKeyOf(secretKey: string): TicketKey {
  const key = deriveKey(secretKey, 'result tickets');
  return { key, id: createHash('sha256').update(key).digest('hex').slice(0, 8) };
}
