import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { keccak256, parseTransaction } from 'viem/utils';
import { ChainError } from '../chain-error.js';
import type {
  LockedTransactions,
  SentTransaction,
  SentTransactionsRepository,
} from '../sent-transactions.repository.js';
import type { Hex } from './authorization.js';
import type { EvmNode } from './evm-node.js';

/** A call of the token that the fee payer pays for. */
export interface PaidCall {
  readonly paymentKey: string;
  readonly to: Hex;
  readonly data: Hex;
  readonly gas: bigint;
}

export interface FeePayerDependencies {
  readonly node: EvmNode;
  readonly transactions: SentTransactionsRepository;
  readonly logger: { warn(fields: object, message: string): void };
}

/** Transactions that are sent again at once. */
const maxResent = 64;
/** Longest time that a broadcast holds the lock, in ms; less than the database allows. */
const broadcastMs = 12_000;
/** A transaction that waits this long behind a risen base fee is signed again for a higher one, in ms. */
const repriceAfterMs = 45_000;
/** Least rise that nodes accept of a replacement, in percent. */
const leastRisePercent = 13n;
/** Wei per unit of gas, for chains whose nodes suggest nothing. */
const minPriorityFee = 1_000_000n;

/** Says that the node has the transaction, or that one with its nonce is mined. */
const isKnown =
  /already known|known transaction|already imported|already exists|nonce too low|nonce is too low|nonce has already been used/i;

/**
 * Signs and sends the transactions of one key on one network. Nonces are handed out under a lock that all processes
 * share. Rows are written first and sent in the order of their nonces, those of processes that died included.
 */
export class FeePayer {
  private readonly account: PrivateKeyAccount;
  /** One at a time in this process, which would otherwise use up its connections while it waits for the lock. */
  private tail: Promise<unknown> = Promise.resolve();
  /** A broadcast that has not begun; it sends what all who wait for it have signed. */
  private nextBroadcast: Promise<void> | null = null;

  constructor(
    key: Hex,
    private readonly chain: { network: string; chainId: number },
    private readonly dependencies: FeePayerDependencies,
  ) {
    this.account = privateKeyToAccount(key);
  }

  get address(): Hex {
    return this.account.address.toLowerCase() as Hex;
  }

  async find(paymentKey: string): Promise<SentTransaction | null> {
    return this.dependencies.transactions.find(this.chain.network, paymentKey);
  }

  /** Returns the transaction of a payment, which is signed if there is none. It is not sent yet. */
  async sign(call: PaidCall, signal: AbortSignal): Promise<SentTransaction> {
    const { node } = this.dependencies;
    const signing = this.locked(async (rows) => {
      signal.throwIfAborted();
      const existing = await rows.find(call.paymentKey);
      if (existing) return existing;
      const [start, fees] = await Promise.all([
        node.transactionCount(this.address, 'pending', signal),
        this.fees(signal),
      ]);
      const nonce = await rows.freeNonce(start);
      const signed = await this.signed({ ...call, nonce, ...fees });
      return rows.insert({ paymentKey: call.paymentKey, nonce, ...signed });
    });
    return untilAborted(signing, signal);
  }

  /** Sends what the node does not have. What it refuses is logged and sent again the next time. */
  async broadcast(signal: AbortSignal): Promise<void> {
    this.nextBroadcast ??= this.locked((rows) => {
      this.nextBroadcast = null;
      return this.sendWaiting(rows, AbortSignal.timeout(broadcastMs));
    });
    await untilAborted(this.nextBroadcast, signal);
  }

  private async sendWaiting(rows: LockedTransactions, signal: AbortSignal): Promise<void> {
    const { node } = this.dependencies;
    const [mined, pending] = await Promise.all([
      node.transactionCount(this.address, 'latest', signal),
      node.transactionCount(this.address, 'pending', signal),
    ]);
    const [first, ...rest] = await rows.from(mined, maxResent);
    if (first) await this.sendFirst(first, { rows, isHeld: first.nonce < pending, signal });
    for (const row of rest) if (row.nonce >= pending) await this.send(row, signal);
    await rows.prune(mined);
  }

  /** The first one holds all others up, so its fee follows the base fee. */
  private async sendFirst(
    row: SentTransaction,
    { rows, isHeld, signal }: { rows: LockedTransactions; isHeld: boolean; signal: AbortSignal },
  ): Promise<void> {
    if (!isHeld) await this.send(row, signal);
    if (Date.now() - row.signedAt.getTime() < repriceAfterMs) return;
    const { to, data, gas, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = parseTransaction(row.raw as Hex);
    const fees = await this.fees(signal);
    if (!to || !data || gas === undefined || fees.maxFeePerGas <= maxFeePerGas) return;
    const repriced = await this.signed({
      to,
      data,
      gas,
      nonce: row.nonce,
      maxFeePerGas: max(fees.maxFeePerGas, raised(maxFeePerGas)),
      maxPriorityFeePerGas: max(fees.maxPriorityFeePerGas, raised(maxPriorityFeePerGas)),
    });
    await rows.replace(row, repriced);
    await this.send({ ...row, ...repriced }, signal);
  }

  private async send({ raw, hash }: SentTransaction, signal: AbortSignal): Promise<void> {
    const { node, logger } = this.dependencies;
    try {
      await node.send(raw as Hex, signal);
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      if (isKnown.test(error.message)) return;
      logger.warn({ network: this.chain.network, transaction: hash }, `A payment is not sent yet: ${error.message}`);
    }
  }

  private async fees(signal: AbortSignal): Promise<{ maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }> {
    const { node } = this.dependencies;
    const [{ baseFee }, suggested] = await Promise.all([node.block('latest', signal), node.priorityFee(signal)]);
    const maxPriorityFeePerGas = max(suggested, minPriorityFee);
    return { maxFeePerGas: 2n * baseFee + maxPriorityFeePerGas, maxPriorityFeePerGas };
  }

  private async signed(transaction: {
    to: Hex;
    data: Hex;
    gas: bigint;
    nonce: bigint;
    maxFeePerGas: bigint;
    maxPriorityFeePerGas: bigint;
  }): Promise<{ hash: Hex; raw: Hex }> {
    const { to, data, gas, nonce, maxFeePerGas, maxPriorityFeePerGas } = transaction;
    const { chainId } = this.chain;
    const fields = { to, data, gas, maxFeePerGas, maxPriorityFeePerGas, chainId, nonce: Number(nonce) };
    const raw = await this.account.signTransaction({ type: 'eip1559', ...fields });
    return { raw, hash: keccak256(raw) };
  }

  private async locked<Result>(work: (rows: LockedTransactions) => Promise<Result>): Promise<Result> {
    const account = { network: this.chain.network, feePayer: this.address };
    const turn = this.tail.then(() => this.dependencies.transactions.locked(account, work));
    // Without the lock, a broadcast that waited for this turn never begins: the next one takes its place.
    this.tail = turn.catch(() => {
      this.nextBroadcast = null;
    });
    return turn;
  }
}

/** Rejects with the signal's reason when that comes first; the work goes on. */
async function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function raised(fee: bigint): bigint {
  return fee + (fee * leastRisePercent) / 100n + 1n;
}
