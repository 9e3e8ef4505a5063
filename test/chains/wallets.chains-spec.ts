import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { payOnEvm, payOnSolana, type PaymentOffer, solanaWalletOf } from '#test/chain-payments';
import { runCommandLine } from '#test/command-line';
import { type SignedTransfer, signTransfer, submitTransfer, tokensOf } from '#test/evm-contracts';
import { createEvmPayer, createSolanaPayer, type PaymentChains, startPaymentChains } from '#test/payment-chains';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';
import { evmWallet, signInHeader, type TestWallet } from '#test/wallet-sign-ins';

/* Top-ups through the whole platform on chains of this machine: real signatures, real transfers, and what goes wrong. */

const fiveDollars = 5_000_000n;

let chains: PaymentChains;
let platform: Platform;

beforeAll(async () => {
  chains = await startPaymentChains();
  platform = await startPlatform({
    replicas: { api: 2 },
    processEnv: { ...chains.environment, 'api-2': chains.environment.api },
  });
});

afterAll(async () => {
  await stopConsistently(platform);
  await chains?.stop();
});

interface TopUp {
  status: number;
  settlement: { success: boolean; transaction: string; payer: string } | null;
  body: { data?: { amountCredited: number; newBalance: number }; accepts?: PaymentOffer[] };
}

async function topUp(payment?: string, replica = 0): Promise<TopUp> {
  const headers: Record<string, string> = payment === undefined ? {} : { 'PAYMENT-SIGNATURE': payment };
  const response = await fetch(`${platform.origins[replica]}/api/v1/x402/top-up`, { method: 'POST', headers });
  const settlement = response.headers.get('payment-response');
  return {
    status: response.status,
    settlement:
      settlement === null ? null : (JSON.parse(Buffer.from(settlement, 'base64').toString()) as TopUp['settlement']),
    body: (await response.json()) as TopUp['body'],
  };
}

async function offerOf(family: 'eip155' | 'solana'): Promise<PaymentOffer> {
  const { accepts } = (await topUp()).body;
  const offer = accepts?.find(({ network }) => network.startsWith(`${family}:`));
  if (!offer) throw new Error(`there is no offer of ${family}`);
  return offer;
}

async function balanceOf(wallet: TestWallet): Promise<number> {
  const headers = { 'sign-in-with-x': await signInHeader(wallet, { origin: platform.origin }) };
  const response = await fetch(`${platform.baseUrl}/x402/balance/${wallet.address}`, { headers });
  return ((await response.json()) as { data: { balanceUsd: number } }).data.balanceUsd;
}

const encodePayment = (accepted: PaymentOffer, payload: SignedTransfer) =>
  Buffer.from(JSON.stringify({ x402Version: 2, accepted, payload })).toString('base64');

describe('a top-up on a real chain', () => {
  it('is credited once when ten requests to two replicas carry it, and never sent again', async () => {
    const payer = await createEvmPayer(chains, 2n * fiveDollars);
    const payment = await payOnEvm(chains, payer, await offerOf('eip155'), fiveDollars);
    const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => topUp(payment, index % 2)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(new Set(answers.map(({ settlement }) => settlement?.transaction)).size).toBe(1);
    expect(await balanceOf(evmWallet(payer.privateKey))).toBe(5);
    expect(await tokensOf(chains.token, payer.address)).toBe(fiveDollars);
  });

  it('lands for each of five wallets that pay at once', async () => {
    const offer = await offerOf('eip155');
    const payers = await Promise.all(Array.from({ length: 5 }, () => createEvmPayer(chains, fiveDollars)));
    const payments = await Promise.all(payers.map((payer) => payOnEvm(chains, payer, offer, fiveDollars)));
    const answers = await Promise.all(payments.map((payment) => topUp(payment)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(new Set(answers.map(({ settlement }) => settlement?.transaction)).size).toBe(5);
    for (const { privateKey } of payers) expect(await balanceOf(evmWallet(privateKey))).toBe(5);
  });

  it('is credited when another sender submits it first', async () => {
    const payer = await createEvmPayer(chains, fiveDollars);
    const offer = await offerOf('eip155');
    const account = privateKeyToAccount(payer.privateKey);
    const transfer = await signTransfer(chains.token, account, { to: offer.payTo, value: fiveDollars });
    const transaction = await submitTransfer(chains.token, transfer);
    const answer = await topUp(encodePayment(offer, transfer));
    expect(answer).toMatchObject({ status: 200, settlement: { success: true, transaction } });
    expect(await balanceOf(evmWallet(payer.privateKey))).toBe(5);
  });

  it('is credited when the block comes after the answer, which offers nothing to pay again', async () => {
    const payer = await createEvmPayer(chains, fiveDollars);
    const payment = await payOnEvm(chains, payer, await offerOf('eip155'), fiveDollars);
    await chains.node.setAutomine(false);
    try {
      const answers = await Promise.all([topUp(payment), topUp(payment, 1)]);
      expect(answers.map(({ status, body }) => [status, body.accepts])).toEqual([
        [202, undefined],
        [202, undefined],
      ]);
    } finally {
      await chains.node.setAutomine(true);
      await chains.node.mine(2);
    }
    await expect.poll(async () => (await topUp(payment)).status, { timeout: 60_000 }).toBe(200);
    expect(await balanceOf(evmWallet(payer.privateKey))).toBe(5);
    expect(await tokensOf(chains.token, payer.address)).toBe(0n);
  });

  it('is refused without money, and moves nothing', async () => {
    const payer = await createEvmPayer(chains, fiveDollars - 1n);
    const answer = await topUp(await payOnEvm(chains, payer, await offerOf('eip155'), fiveDollars));
    expect(answer.status).toBe(400);
    expect(await tokensOf(chains.token, payer.address)).toBe(fiveDollars - 1n);
  });

  it('pays with a Solana wallet without money for fees, once', async () => {
    const payer = await createSolanaPayer(chains, 2n * fiveDollars);
    const payment = await payOnSolana(chains, payer, await offerOf('solana'), fiveDollars);
    const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => topUp(payment, index % 2)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(await balanceOf(solanaWalletOf(payer))).toBe(5);
    expect(await chains.vm.tokensOf(payer.address)).toBe(fiveDollars);
  });

  it('leaves a sound ledger', async () => {
    const environment = { DATABASE_URL: platform.databaseUrl, SLUICE_HOME: platform.home };
    const report = JSON.parse(await runCommandLine(['ledger', 'verify', '--json'], environment)) as { breaks: object };
    expect(new Set(Object.values(report.breaks).map(Number))).toEqual(new Set([0]));
  });
});
