import { randomBytes } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { signInHeader, signInMs } from '#accounts';
import type { BalanceBefore } from '#billing';
import { displayNanos, type NanoUsd, PlatformError } from '#common';
import { PaymentOffers, type PaymentTerms } from '#payments';
import { ApiConfig } from '#platform/config';
import { Inject, Injectable } from '#platform/injection';
import type { PaymentDiscovery, SignInChallengeDocument, WalletPaymentRequired } from '#platform/wallets';

/** What a wallet needs to have for a charged request. */
export const minimumBalanceNano: NanoUsd = 100_000_000n;

/** Header names of wallets, besides that of the sign-in. */
export const legacySignInHeader = 'X-Sign-In-With-X';
export const paymentRequiredHeader = 'payment-required';

const topUpPath = '/api/v1/x402/top-up';
const suggestedUsd = 10;
const tokenDecimals = 6;
const chainNames: Readonly<Record<string, string>> = {
  'eip155:8453': 'base',
  'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp': 'solana',
};
const statement = 'Sign in to the API with this wallet.';
/** Conforming clients refuse more than a dollar unless they are told otherwise. */
const description =
  `Paid from the balance of a wallet. Top up at ${topUpPath}, which alone takes payments; clients with spend controls ` +
  'must allow the amount. Then sign in with each request.';

type WalletSettings = Pick<ApiConfig['wallets'], 'origins' | 'chains' | 'rpcUrls'>;

/** The answer to a request that has to be paid. */
export interface PaymentAnswer {
  headers: Record<string, string>;
  /** The body. Absent: the error of the route. */
  body?: PaymentDiscovery | WalletPaymentRequired;
}

/** Signals a wallet that has too little. */
export class PoorWallet extends PlatformError {
  constructor(readonly balance: BalanceBefore) {
    super(
      'PAYMENT_REQUIRED',
      `The wallet has ${displayNanos(balance.usdNano + balance.diemNano)} USD; a request needs ${displayNanos(minimumBalanceNano)}.`,
    );
  }
}

/** The 402 answers: how to get credentials, and how to pay. Says nothing while the operator takes no payments. */
@Injectable()
export class PaymentAnswers {
  private readonly wallets: WalletSettings;

  constructor(
    @Inject(ApiConfig) { wallets }: { wallets: WalletSettings },
    private readonly offers: PaymentOffers,
  ) {
    this.wallets = wallets;
  }

  /** Returns null while the operator accepts no payments. */
  answer(error: PlatformError, request: FastifyRequest): PaymentAnswer | null {
    const [first] = this.offers.offers;
    if (first === undefined) return null;
    const origin = this.originFor(request.headers.host);
    const url = `${origin}${pathOf(request)}`;
    const challenge = this.challenge(origin, url);
    const requirements = this.requirements(error.message, url, challenge);
    const headers = { [paymentRequiredHeader]: base64(requirements) };
    const { caller } = request;
    if (caller === null) return { headers, body: { ...requirements, authOptions: authOptions(origin) } };
    if (caller.wallet === undefined) return { headers };
    return { headers, body: this.poorWallet(error, { terms: first.terms, origin, challenge }) };
  }

  /** One of the configured origins, so a client cannot make it say anything else. */
  private originFor(host: string | undefined): string {
    const { origins } = this.wallets;
    return origins.find((origin) => new URL(origin).host === host) ?? origins[0] ?? '';
  }

  private requirements(error: string, url: string, challenge: SignInChallengeDocument) {
    const resource = { url, description, mimeType: 'application/json' };
    const extensions = { 'sign-in-with-x': { ...challenge, schema: signInSchema } };
    return { x402Version: 2, error, resource, accepts: this.offers.accepts, extensions };
  }

  private challenge(origin: string, uri: string): SignInChallengeDocument {
    const nowMs = Date.now();
    const [issuedAt, expirationTime] = [nowMs, nowMs + signInMs].map((ms) => new Date(ms).toISOString()) as [
      string,
      string,
    ];
    const nonce = randomBytes(16).toString('hex');
    const info = { domain: new URL(origin).host, uri, version: '1', nonce, issuedAt, expirationTime, statement };
    return { info, supportedChains: this.wallets.chains.flatMap((chainId) => this.kindsOf(chainId)) };
  }

  private kindsOf(chainId: string): SignInChallengeDocument['supportedChains'] {
    if (!chainId.startsWith('eip155:')) return [{ chainId, type: 'ed25519' }];
    const plain = { chainId, type: 'eip191' } as const;
    return this.wallets.rpcUrls.has(chainId) ? [plain, { chainId, type: 'eip1271' }] : [plain];
  }

  private poorWallet(
    error: PlatformError,
    offer: { terms: PaymentTerms; origin: string; challenge: SignInChallengeDocument },
  ): WalletPaymentRequired {
    const minUsd = displayNanos(this.offers.minNano);
    const balance = error instanceof PoorWallet ? error.balance : null;
    return {
      error: 'Payment required',
      code: 'PAYMENT_REQUIRED',
      reason: 'insufficient_balance',
      message: error.message,
      ...(balance !== null && { currentBalanceUsd: displayNanos(balance.usdNano + balance.diemNano) }),
      minimumBalanceUsd: displayNanos(minimumBalanceNano),
      description,
      suggestedTopUpUsd: suggestedTopUpUsd(this.offers),
      minimumTopUpUsd: minUsd,
      supportedTokens: ['USDC'],
      supportedChains: this.offers.offers.map(({ terms: { network } }) => chainNames[network] ?? network),
      topUpInstructions: {
        step1: `POST ${offer.origin}${topUpPath} without a payment: the answer lists what is accepted.`,
        step2: `Sign a payment of ${this.offers.range} for one of the offers.`,
        step3: 'Send the same request again with the payment in PAYMENT-SIGNATURE.',
        receiverWallet: offer.terms.payTo,
        tokenAddress: offer.terms.asset,
        tokenDecimals,
        network: offer.terms.network,
        minimumAmountUsd: minUsd,
      },
      siwxChallenge: offer.challenge,
    };
  }
}

export function suggestedTopUpUsd({ minNano, maxNano }: Pick<PaymentOffers, 'minNano' | 'maxNano'>): number {
  return Math.min(Math.max(suggestedUsd, displayNanos(minNano)), displayNanos(maxNano));
}

/** The route without its parameters: nothing of the request's own text, which could be long. */
function pathOf({ routeOptions }: FastifyRequest): string {
  return (routeOptions.url ?? '/').split('/:', 1)[0] ?? '/';
}

function authOptions(origin: string): PaymentDiscovery['authOptions'] {
  const docs = `${origin}/docs`;
  return {
    apiKey: { header: 'Authorization: Bearer <key>', getKey: 'Ask the operator of this service for a key.', docs },
    x402Wallet: { header: signInHeader, legacyHeader: legacySignInHeader, topUp: `${origin}${topUpPath}`, docs },
  };
}

const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64');

const text = { type: 'string' };

/** Name of the header that answers the challenge, as the protocol requires it. */
const signInSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    ...{ domain: text, address: text, statement: text, uri: text, version: text, chainId: text, type: text },
    ...{ nonce: text, issuedAt: text, expirationTime: text, signature: text },
  },
  required: ['domain', 'address', 'uri', 'version', 'chainId', 'type', 'nonce', 'issuedAt', 'signature'],
};
