import { generateKeyPairSync } from 'node:crypto';
import { startChainProgram } from './chain-program.js';

export interface SolanaVmOptions {
  /** Default: the hash of the main network. */
  genesisHash?: string;
  /** How long a slot takes; a transaction is confirmed after one, and final after 32. Default: 400. */
  slotMs?: number;
  /** How far the clock of the chain is from that of the machine, in seconds; negative: it lags. */
  clockOffsetS?: number;
}

/** Mint of the payment token, at the address that it has on the main network. It has six decimals. */
export const solanaMint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';

/** A local Solana chain: real programs on a VM, with control over its blocks. */
export class SolanaVm {
  private calls = 0;

  private constructor(
    /** Where it answers JSON-RPC. */
    readonly url: string,
    /** Ends the process; the chain is gone. */
    readonly stop: () => Promise<void>,
  ) {}

  static async start(options: SolanaVmOptions = {}): Promise<SolanaVm> {
    const { url, stop } = await startChainProgram('solana-vm.mjs', { SLUICE_TEST_SOLANA_VM: JSON.stringify(options) });
    return new SolanaVm(url, stop);
  }

  /** Rejects with code and message of the error. Integers above 2^53 are rounded. */
  async request<Result>(method: string, params: readonly unknown[] = []): Promise<Result> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: ++this.calls, method, params });
    const response = await fetch(this.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const answer = (await response.json()) as { result: Result; error?: { code: number; message: string } };
    if (answer.error) throw new Error(`${method}: ${answer.error.code} ${answer.error.message}`);
    return answer.result;
  }

  /** Gives an address 10 SOL for fees. */
  async fund(address: string): Promise<void> {
    await this.request('requestAirdrop', [address, 10_000_000_000]);
  }

  /** Creates the token account of an owner, unless it exists; resolves to its address. */
  async openTokenAccount(owner: string): Promise<string> {
    return await this.request('svm_openTokenAccount', [owner]);
  }

  /** Creates tokens of an owner out of nothing, in base units, and its token account if need be. */
  async mintTokens(owner: string, amount: bigint): Promise<void> {
    await this.request('svm_mintTo', [owner, amount.toString()]);
  }

  /** In base units; 0 without a token account. */
  async tokensOf(owner: string): Promise<bigint> {
    const filter = { mint: solanaMint };
    const { value } = await this.request<{
      value: { account: { data: { parsed: { info: { tokenAmount: { amount: string } } } } } }[];
    }>('getTokenAccountsByOwner', [owner, filter, { encoding: 'jsonParsed' }]);
    return value.reduce((sum, { account }) => sum + BigInt(account.data.parsed.info.tokenAmount.amount), 0n);
  }

  async passSlots(slots: number): Promise<void> {
    await this.request('svm_passSlots', [slots]);
  }

  /** Transactions that have not landed can no longer do so. */
  async expireBlockhash(): Promise<void> {
    await this.request('svm_expireBlockhash');
  }

  /** From now on, transactions are accepted and wait. */
  async withhold(): Promise<void> {
    await this.request('svm_withhold');
  }

  /** Executes what waits, in order. */
  async release(): Promise<void> {
    await this.request('svm_release');
  }

  /** Loses what waits. */
  async drop(): Promise<void> {
    await this.request('svm_drop');
  }
}

export interface SolanaKeyPair {
  address: string;
  /** Seed and public key, 64 bytes, as wallets keep them. */
  secretKey: Uint8Array;
}

export function generateSolanaKeyPair(): SolanaKeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const part = (key: typeof publicKey, name: 'x' | 'd') =>
    Buffer.from(String(key.export({ format: 'jwk' })[name]), 'base64url');
  const address = part(publicKey, 'x');
  return { address: encodeBase58(address), secretKey: Buffer.concat([part(privateKey, 'd'), address]) };
}

/** Of short bytes: the time grows with the square of their number. */
export function encodeBase58(bytes: Uint8Array): string {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  const zeros = bytes.findIndex((byte) => byte !== 0);
  let text = '';
  for (let rest = BigInt(`0x${Buffer.from(bytes).toString('hex')}`); rest > 0n; rest /= 58n) {
    text = `${alphabet[Number(rest % 58n)]}${text}`;
  }
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text;
}
