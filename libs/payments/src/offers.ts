import { formatNanos, type NanoUsd, nanosPerUsd } from '#common';
import type { ApiConfig } from '#platform/config';
import type { PaymentTerms } from './facilitator/facilitator.js';

/** Base units of an asset with six decimals, in nano-USD. */
const nanosPerUnit = 1_000n;

/** What the operator has set. */
type PaymentSettings = ApiConfig['payments'];

/** One way to pay, as a client reads it. */
export interface Requirement {
  scheme: 'exact';
  network: string;
  /** Base units of the asset. */
  amount: string;
  asset: string;
  payTo: string;
  maxTimeoutSeconds: number;
  extra: Record<string, string>;
}

/** What the operator takes payments on. */
export interface Offer {
  readonly kind: PaymentSettings['networks'][number]['kind'];
  readonly terms: PaymentTerms;
}

/** Names of networks in the first version of the protocol. */
const oldNames: Record<string, string> = {
  base: 'eip155:8453',
  'base-sepolia': 'eip155:84532',
  solana: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
};

/** The operator's offers. Empty where none is configured. */
export class PaymentOffers {
  readonly offers: readonly Offer[];

  constructor(private readonly settings: PaymentSettings) {
    this.offers = settings.networks.map(({ kind, ...terms }) => ({ kind, terms }));
  }

  get minNano(): NanoUsd {
    return BigInt(this.settings.minUsd) * nanosPerUsd;
  }

  get maxNano(): NanoUsd {
    return BigInt(this.settings.maxUsd) * nanosPerUsd;
  }

  get isConfigured(): boolean {
    return this.offers.length > 0;
  }

  /** Smallest and largest amount, as text for messages. */
  get range(): string {
    return `$${formatNanos(this.minNano, 0)} to $${formatNanos(this.maxNano, 0)}`;
  }

  /** `accepts` of a 402: the smallest top-up on each network. */
  get accepts(): Requirement[] {
    return this.offers.map(({ terms }) => requirementOf(terms, this.minNano / nanosPerUnit));
  }

  /** Finds the offer of a network, named in CAIP-2 or as in the first version of the protocol. */
  find(network: string): Offer | null {
    const caip = Object.hasOwn(oldNames, network) ? oldNames[network] : network;
    return this.offers.find(({ terms }) => terms.network === caip) ?? null;
  }
}

export function requirementOf(terms: PaymentTerms, amount: bigint): Requirement {
  const { network, asset, payTo, maxTimeoutSeconds, extra } = terms;
  return { scheme: 'exact', network, amount: String(amount), asset, payTo, maxTimeoutSeconds, extra: { ...extra } };
}

export function nanosOfUnits(units: bigint): NanoUsd {
  return units * nanosPerUnit;
}
