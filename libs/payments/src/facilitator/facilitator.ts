export type PaymentNetwork = 'eip155:8453' | 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' | (string & {});

/** What the operator takes: one asset on one network, paid to one address. */
export interface PaymentTerms {
  readonly network: PaymentNetwork;
  /** Token contract or mint. */
  readonly asset: string;
  readonly payTo: string;
  /** EIP-712 name and version on an EVM chain; the fee payer on Solana. */
  readonly extra: Readonly<Record<string, string>>;
  readonly maxTimeoutSeconds: number;
}

/** A payment as its payer signed it: the part of the payload that its network defines. */
export interface SignedPayment {
  readonly terms: PaymentTerms;
  /** Base units of the asset. */
  readonly amount: bigint;
  /** `{signature, authorization}` on an EVM chain, `{transaction}` (base64) on Solana. */
  readonly payload: Readonly<Record<string, unknown>>;
}

export type Verification =
  | { readonly valid: true; readonly payer: string }
  | { readonly valid: false; readonly reason: string; readonly message: string };

/** `pending`: the transaction may have been sent; only the chain knows. */
export type Settlement =
  | { readonly outcome: 'settled'; readonly transaction: string }
  | { readonly outcome: 'pending'; readonly transaction: string | null }
  | { readonly outcome: 'failed'; readonly reason: string; readonly message: string };

/** Verifies and settles payments. Whatever `settle` throws means an unknown outcome, as `pending` does. */
export interface Facilitator {
  /** Throws for an unreachable or nonsensical facilitator: not a failure of the payment. */
  verify(payment: SignedPayment, signal: AbortSignal): Promise<Verification>;
  settle(payment: SignedPayment, signal: AbortSignal): Promise<Settlement>;
}

/** What the chain says about an authorisation. `unused` after its expiry means that it can never be used. */
export type OnChain =
  | { readonly state: 'settled'; readonly transaction: string }
  | { readonly state: 'unused'; readonly chainTimeMs: number }
  /** The authorisation was cancelled, or used without a transfer of the amount from payer to `payTo`. */
  | { readonly state: 'void'; readonly message: string };

/** Finds out by (payer, nonce) on EVM, by the signature of the transaction on Solana. */
export interface PaymentChain {
  lookUp(payment: SignedPayment, signal: AbortSignal): Promise<OnChain>;
}
