import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { PaymentOffers } from '#payments';
import type { ApiConfig } from '#platform/config';
import type { PaymentDiscovery, WalletPaymentRequired } from '#platform/wallets';
import { PaymentAnswers, PoorWallet } from './payment-answers.js';

type Network = ApiConfig['payments']['networks'][number];

const base: Network = {
  kind: 'evm',
  network: 'eip155:8453',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo: `0x${'1'.repeat(40)}`,
  extra: { name: 'USD Coin', version: '2' },
  maxTimeoutSeconds: 300,
};
const solana: Network = {
  kind: 'solana',
  network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
  asset: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
  payTo: '11111111111111111111111111111112',
  extra: { feePayer: '11111111111111111111111111111113' },
  maxTimeoutSeconds: 300,
};
const origins = ['https://api.example.org', 'http://127.0.0.1:3000'];
const chains = ['eip155:8453', solana.network];

function answers({ networks = [base, solana], rpcUrls = new Map<string, string>() } = {}): PaymentAnswers {
  return new PaymentAnswers(
    { wallets: { origins, chains, rpcUrls } },
    new PaymentOffers({ networks, minUsd: 5, maxUsd: 10_000 }),
  );
}

function request(caller: object | null, host = 'evil.example', url = '/api/v1/chat/completions'): FastifyRequest {
  return {
    caller,
    headers: { host, 'x-forwarded-host': 'evil.example' },
    routeOptions: { url },
  } as unknown as FastifyRequest;
}

const required = new PlatformError('PAYMENT_REQUIRED', 'Send an API key.');
/** The body of an answer, which has one. */
function bodyOf(answer: { body?: unknown } | null): unknown {
  expect(answer?.body).toBeDefined();
  return answer?.body;
}

const discoveryOf = (answer: { body?: unknown } | null) => bodyOf(answer) as PaymentDiscovery;
const walletBodyOf = (answer: { body?: unknown } | null) => bodyOf(answer) as WalletPaymentRequired;

const decoded = (header: string | undefined) =>
  JSON.parse(Buffer.from(header ?? '', 'base64').toString()) as PaymentDiscovery;

describe('PaymentAnswers', () => {
  it('says nothing while the operator takes no payments', () => {
    expect(answers({ networks: [] }).answer(required, request(null))).toBeNull();
  });

  it('tells a client without credentials how to get some, in the body and in the header', () => {
    const answer = answers().answer(required, request(null));
    const { authOptions, ...requirements } = discoveryOf(answer);
    expect(decoded(answer?.headers['payment-required'])).toEqual(requirements);
    expect(requirements).toMatchObject({
      x402Version: 2,
      error: 'Send an API key.',
      resource: { url: 'https://api.example.org/api/v1/chat/completions', mimeType: 'application/json' },
      accepts: [
        { scheme: 'exact', network: 'eip155:8453', amount: '5000000', payTo: base.payTo, maxTimeoutSeconds: 300 },
        { scheme: 'exact', network: solana.network, amount: '5000000', extra: solana.extra },
      ],
      extensions: { 'sign-in-with-x': { info: { domain: 'api.example.org', version: '1' } } },
    });
    expect(authOptions.x402Wallet).toMatchObject({
      header: 'SIGN-IN-WITH-X',
      legacyHeader: 'X-Sign-In-With-X',
      topUp: 'https://api.example.org/api/v1/x402/top-up',
    });
  });

  it('names a configured origin, which the host of a request can only choose', () => {
    const urlFor = (host: string) => discoveryOf(answers().answer(required, request(null, host))).resource.url;
    expect(urlFor('127.0.0.1:3000')).toBe('http://127.0.0.1:3000/api/v1/chat/completions');
    for (const host of ['evil.example', '', '127.0.0.1', 'api.example.org:81', 'API.EXAMPLE.ORG']) {
      expect(urlFor(host)).toBe('https://api.example.org/api/v1/chat/completions');
    }
  });

  it('repeats nothing that a path holds', () => {
    const answer = answers().answer(required, request(null, '', '/api/v1/crypto/rpc/:network'));
    expect(discoveryOf(answer).resource.url).toBe('https://api.example.org/api/v1/crypto/rpc');
  });

  it('leaves the error of a caller with a key as it is', () => {
    const error = new PlatformError('INSUFFICIENT_BALANCE', 'No credit.');
    const answer = answers().answer(error, request({ apiKeyId: 'key' }));
    expect(answer?.body).toBeUndefined();
    expect(decoded(answer?.headers['payment-required'])).toMatchObject({ x402Version: 2, error: 'No credit.' });
  });

  it('tells a wallet what it has, what it needs and how to pay', () => {
    const poor = new PoorWallet({ usdNano: 90_000_000n, diemNano: 1_000_000n });
    const body = walletBodyOf(answers().answer(poor, request({ wallet: '0xabc' })));
    expect(body).toMatchObject({
      error: 'Payment required',
      code: 'PAYMENT_REQUIRED',
      reason: 'insufficient_balance',
      currentBalanceUsd: 0.091,
      minimumBalanceUsd: 0.1,
      suggestedTopUpUsd: 10,
      minimumTopUpUsd: 5,
      supportedTokens: ['USDC'],
      supportedChains: ['base', 'solana'],
      topUpInstructions: {
        receiverWallet: base.payTo,
        tokenAddress: base.asset,
        tokenDecimals: 6,
        network: 'eip155:8453',
      },
    });
    expect(body.message).toContain('0.1');
  });

  it('tells a wallet whose request costs more than it has the same', () => {
    const error = new PlatformError('INSUFFICIENT_BALANCE', 'This request needs up to 1 USD.');
    const body = walletBodyOf(answers().answer(error, request({ wallet: '0xabc' })));
    expect(body).toMatchObject({ code: 'PAYMENT_REQUIRED', message: 'This request needs up to 1 USD.' });
    expect(body).not.toHaveProperty('currentBalanceUsd');
  });

  it('makes a new challenge each time, and offers contract signatures where they can be checked', () => {
    const challenge = (rpcUrls?: Map<string, string>) =>
      walletBodyOf(answers(rpcUrls && { rpcUrls }).answer(required, request({ wallet: '0xabc' }))).siwxChallenge;
    expect(challenge().info.nonce).not.toBe(challenge().info.nonce);
    expect(challenge().info.nonce).toMatch(/^[0-9a-f]{32}$/);
    expect(challenge().supportedChains.map(({ type }) => type)).toEqual(['eip191', 'ed25519']);
    const withNode = challenge(new Map([['eip155:8453', 'http://node']]));
    expect(withNode.supportedChains.map(({ type }) => type)).toEqual(['eip191', 'eip1271', 'ed25519']);
  });
});
