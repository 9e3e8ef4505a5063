import { ChainError } from '../chain-error.js';
import type { JsonRpcClient } from '../json-rpc.client.js';

export type Commitment = 'confirmed' | 'finalized';

export interface SolanaAccount {
  readonly owner: string;
  readonly data: Buffer;
}

export interface SignatureStatus {
  /** Why it failed on the chain, as the node says; null: it succeeded. */
  readonly failure: string | null;
  readonly commitment: 'processed' | Commitment;
}

const statuses = ['processed', 'confirmed', 'finalized'] as const;

/** The calls of a Solana node that payments need. */
export class SolanaNode {
  constructor(
    private readonly rpc: JsonRpcClient,
    private readonly commitment: Commitment,
  ) {}

  async genesisHash(signal: AbortSignal): Promise<string> {
    return text('getGenesisHash', await this.rpc.call('getGenesisHash', [], signal));
  }

  /** Null: it does not exist. */
  async account(address: string, signal: AbortSignal): Promise<SolanaAccount | null> {
    const method = 'getAccountInfo';
    const options = { encoding: 'base64', commitment: 'confirmed' };
    const value = valueOf(method, await this.rpc.call(method, [address, options], signal));
    if (value === null) return null;
    const { owner, data } = record(method, value);
    const [encoded] = Array.isArray(data) ? (data as unknown[]) : [];
    return { owner: text(method, owner), data: Buffer.from(text(method, encoded), 'base64') };
  }

  /** Lamports. */
  async balance(address: string, signal: AbortSignal): Promise<number> {
    const method = 'getBalance';
    return number(method, valueOf(method, await this.rpc.call(method, [address, { commitment: 'confirmed' }], signal)));
  }

  async isBlockhashValid(blockhash: string, signal: AbortSignal): Promise<boolean> {
    const method = 'isBlockhashValid';
    const { commitment } = this;
    return valueOf(method, await this.rpc.call(method, [blockhash, { commitment }], signal)) === true;
  }

  /** Time of the newest block, in ms. */
  async chainTimeMs(signal: AbortSignal): Promise<number> {
    const { commitment } = this;
    const slot = number('getSlot', await this.rpc.call('getSlot', [{ commitment }], signal));
    return number('getBlockTime', await this.rpc.call('getBlockTime', [slot], signal)) * 1_000;
  }

  /** Null: the network does not know the transaction. */
  async status(signature: string, signal: AbortSignal): Promise<SignatureStatus | null> {
    const method = 'getSignatureStatuses';
    const options = { searchTransactionHistory: true };
    const list = valueOf(method, await this.rpc.call(method, [[signature], options], signal));
    if (!Array.isArray(list) || list.length !== 1) throw nonsense(method);
    if (list[0] === null) return null;
    const { err, confirmationStatus } = record(method, list[0]);
    const commitment = statuses.find((name) => name === confirmationStatus) ?? 'processed';
    return { failure: err === null || err === undefined ? null : describe(err), commitment };
  }

  hasReached({ commitment }: SignatureStatus): boolean {
    return statuses.indexOf(commitment) >= statuses.indexOf(this.commitment);
  }

  /** Returns why the transaction would fail; null: it would not. Signatures are not looked at. */
  async simulate(transaction: string, signal: AbortSignal): Promise<string | null> {
    const method = 'simulateTransaction';
    const options = { encoding: 'base64', commitment: 'confirmed', sigVerify: false };
    const { err } = record(method, valueOf(method, await this.rpc.call(method, [transaction, options], signal)));
    return err === null || err === undefined ? null : describe(err);
  }

  /** The node repeats the transaction by itself until its block hash is too old. */
  async send(transaction: string, signal: AbortSignal): Promise<void> {
    const options = { encoding: 'base64', skipPreflight: true };
    await this.rpc.call('sendTransaction', [transaction, options], signal);
  }

  /** Signatures of transactions that touched an account, newest first. */
  async signaturesOf(address: string, limit: number, signal: AbortSignal): Promise<string[]> {
    const method = 'getSignaturesForAddress';
    const options = { limit, commitment: this.commitment };
    const list = await this.rpc.call(method, [address, options], signal);
    if (!Array.isArray(list)) throw nonsense(method);
    return list.map((entry) => text(method, record(method, entry).signature));
  }

  /** A transaction in base64; null: the node has none. */
  async transaction(signature: string, signal: AbortSignal): Promise<string | null> {
    const method = 'getTransaction';
    const options = { encoding: 'base64', commitment: this.commitment, maxSupportedTransactionVersion: 0 };
    const answer = await this.rpc.call(method, [signature, options], signal);
    if (answer === null) return null;
    const { transaction } = record(method, answer);
    return Array.isArray(transaction) ? text(method, transaction[0]) : null;
  }
}

function describe(error: unknown): string {
  return JSON.stringify(error)
    .replaceAll(/[^\x20-\x7e]/g, ' ')
    .slice(0, 200);
}

function nonsense(method: string): ChainError {
  return new ChainError('nonsense', `${method}: an answer that is not of its kind`);
}

function record(method: string, value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw nonsense(method);
  return value as Record<string, unknown>;
}

function valueOf(method: string, answer: unknown): unknown {
  const { value } = record(method, answer);
  if (value === undefined) throw nonsense(method);
  return value;
}

function text(method: string, value: unknown): string {
  if (typeof value !== 'string') throw nonsense(method);
  return value;
}

function number(method: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw nonsense(method);
  return value;
}
