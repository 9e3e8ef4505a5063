import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokensOf } from '#test/evm-contracts';
import { createEvmPayer, createSolanaPayer, type PaymentChains, startPaymentChains } from '#test/payment-chains';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';

/*
 * Clients that this project did not write pay on local chains and then chat. They run in processes of their own with the
 * packages of test/clients/wallets.
 */

let chains: PaymentChains;
let platform: Platform;

beforeAll(async () => {
  chains = await startPaymentChains();
  platform = await startPlatform({ processEnv: chains.environment });
});

afterAll(async () => {
  await stopConsistently(platform);
  await chains?.stop();
});

async function runClient(name: string, settings: object): Promise<Record<string, unknown>> {
  const program = fileURLToPath(new URL(`wallets/${name}.mjs`, import.meta.url));
  const env = {
    PATH: process.env.PATH ?? '',
    SLUICE_TEST_CLIENT: JSON.stringify({ model: 'tiny-llama', ...settings }),
  };
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}') as Record<string, unknown>;
}

describe('the client packages of the protocol', () => {
  it('refuse a top-up by default, and pay and chat with both chains when their spend controls allow it', async () => {
    const evm = await createEvmPayer(chains, 20_000_000n);
    const solana = await createSolanaPayer(chains, 20_000_000n);
    const results = await runClient('official', {
      baseUrl: platform.baseUrl,
      evm,
      solana: { ...solana, rpcUrl: chains.vm.url },
    });
    const paid = { status: 200, settlement: { success: true } };
    expect(results).toMatchObject({
      byDefault: expect.stringContaining('spendControls'),
      evm: { ...paid, settlement: { payer: evm.address.toLowerCase(), network: 'eip155:8453' } },
      evmChat: { status: 200, choices: 1, remaining: '5.000000' },
      solana: { ...paid, settlement: { payer: solana.address } },
      solanaChat: { status: 200, choices: 1, remaining: '5.000000' },
    });
    expect(await tokensOf(chains.token, evm.address)).toBe(15_000_000n);
    expect(await chains.vm.tokensOf(solana.address)).toBe(15_000_000n);
  });
});

describe('the client of the service whose API this is', () => {
  it('tops up with any amount, chats, and reads balance and transactions', async () => {
    const { privateKey, address } = await createEvmPayer(chains, 50_000_000n);
    const results = await runClient('original', { origin: platform.origin, privateKey });
    expect(results).toMatchObject({
      refused: 'Insufficient balance',
      tooLittle: expect.stringContaining('at least $5.00'),
      toppedUp: 10,
      choices: 1,
      streamed: true,
      types: ['CHARGE', 'CHARGE', 'TOP_UP'],
    });
    expect(await tokensOf(chains.token, address)).toBe(40_000_000n);
  });

  it('tops up by itself when a chat is refused', async () => {
    const { privateKey, address } = await createEvmPayer(chains, 5_000_000n);
    const results = await runClient('original-auto', { origin: platform.origin, privateKey });
    expect(results).toMatchObject({ choices: 1 });
    expect(await tokensOf(chains.token, address)).toBe(0n);
  });
});
