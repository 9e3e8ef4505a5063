import type { Verification } from './facilitator.js';

/** Why a payment is not accepted. `reason` is a code of the protocol, `message` a sentence for the payer. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

export function refuse(reason: string, message: string): Refusal {
  return { reason, message };
}

export function isRefusal(value: object): value is Refusal {
  return 'reason' in value;
}

export function invalid({ reason, message }: Refusal): Verification {
  return { valid: false, reason, message };
}
