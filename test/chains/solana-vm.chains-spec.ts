import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runChainProgram } from '#test/chain-program';
import { generateSolanaKeyPair, solanaMint, SolanaVm } from '#test/solana-vm';

let vm: SolanaVm;

beforeAll(async () => {
  vm = await SolanaVm.start({ slotMs: 50 });
});

afterAll(() => vm.stop());

async function runKit(
  payer: { secretKey: Uint8Array },
  payee: string,
  more: object = {},
): Promise<Record<string, unknown>> {
  const secretKey = Buffer.from(payer.secretKey).toString('base64');
  const settings = { url: vm.url, headers: {}, secretKey, payee, mint: solanaMint, ...more };
  const text = await runChainProgram('clients/kit.mjs', { SLUICE_TEST_CLIENT: JSON.stringify(settings) });
  return JSON.parse(text) as Record<string, unknown>;
}

describe('the local Solana chain', () => {
  it('names the main network', async () => {
    expect(await vm.request('getGenesisHash')).toBe('5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d');
  });

  it('moves tokens with the real token program, and refuses what that refuses', async () => {
    const [payer, payee] = [generateSolanaKeyPair(), generateSolanaKeyPair()];
    await vm.fund(payer.address);
    await vm.mintTokens(payer.address, 5_000_000n);
    await vm.openTokenAccount(payee.address);
    expect(await runKit(payer, payee.address)).toMatchObject({
      isSent: true,
      changes: ['1500000', '3500000'],
      tooPoor: { code: -32002 },
      noTokenAccount: { code: -32602 },
    });
    expect([await vm.tokensOf(payer.address), await vm.tokensOf(payee.address)]).toEqual([3_500_000n, 1_500_000n]);
  });

  it('refuses a transfer to an owner without a token account', async () => {
    const [payer, payee] = [generateSolanaKeyPair(), generateSolanaKeyPair()];
    await vm.fund(payer.address);
    await vm.mintTokens(payer.address, 5_000_000n);
    await expect(runKit(payer, payee.address)).rejects.toThrow('-32002');
    expect(await vm.tokensOf(payee.address)).toBe(0n);
  });

  it('keeps transactions back until they are released, and loses those that are dropped', async () => {
    const [payer, payee] = [generateSolanaKeyPair(), generateSolanaKeyPair()];
    await vm.fund(payer.address);
    await vm.mintTokens(payer.address, 5_000_000n);
    await vm.openTokenAccount(payee.address);
    await vm.withhold();
    const paid = runKit(payer, payee.address);
    await expect.poll(() => vm.request<number>('svm_waiting')).toBe(1);
    expect(await vm.tokensOf(payee.address)).toBe(0n);
    await vm.release();
    expect(await paid).toMatchObject({ isSent: true, paid: '1500000' });
    await vm.withhold();
    const lost = runKit(payer, payee.address, { polls: 10 }).catch(() => null);
    await expect.poll(() => vm.request<number>('svm_waiting')).toBe(1);
    await vm.drop();
    await vm.release();
    await lost;
    expect(await vm.tokensOf(payee.address)).toBe(1_500_000n);
  });
});
