import { ChainError } from '../chain-error.js';
import type { OnChain, PaymentChain, SignedPayment } from '../facilitator.js';
import { isRefusal } from '../refusal.js';
import { type Authorization, checkTerms, type Hex, parseAuthorization } from './authorization.js';
import type { EvmBlock, EvmNode } from './evm-node.js';
import { Token } from './token.js';
import { canceledTopic, type EvmLog, readAuthorizationUse, topicOfAddress, usedTopic } from './transfer-logs.js';

/** Blocks per search of logs. Nodes that allow fewer are asked for fewer. */
const searchBlocks = 2_000n;
const minSearchBlocks = 50n;
/** How far back a use is searched for, in blocks: 7 days of a chain with a block every 2 s. */
const maxSearchedBlocks = 302_400n;

export const withoutTransfer = 'The authorization was used without a transfer of its value to its receiver.';

/** Looks authorizations up by (payer, nonce), as of the newest block with enough confirmations. */
export class EvmChain implements PaymentChain {
  private readonly token: Token;

  constructor(
    private readonly node: EvmNode,
    asset: Hex,
    /** At least 1: the block of the transaction itself. */
    private readonly confirmations: number,
  ) {
    this.token = new Token(node, asset);
  }

  async lookUp(payment: SignedPayment, signal: AbortSignal): Promise<OnChain> {
    const parsed = parseAuthorization(payment.payload);
    if (isRefusal(parsed)) return { state: 'void', message: parsed.message };
    const { authorization } = parsed;
    const wrong = checkTerms(authorization, payment);
    if (wrong) return { state: 'void', message: wrong.message };
    const block = await this.confirmedBlock(signal);
    if (!(await this.token.isSpent(authorization, block.number, signal)))
      return { state: 'unused', chainTimeMs: Number(block.timestamp) * 1_000 };
    const transaction = await this.findUse(authorization, block.number, signal);
    return this.stateAfter(transaction, authorization, signal);
  }

  /** Whether an authorization was used or canceled, as of the newest block: confirmations do not matter. */
  async isSpent({ payload }: SignedPayment, signal: AbortSignal): Promise<boolean> {
    const parsed = parseAuthorization(payload);
    return !isRefusal(parsed) && this.token.isSpent(parsed.authorization, 'latest', signal);
  }

  /** The newest block that counts. */
  async confirmedBlock(signal: AbortSignal): Promise<EvmBlock> {
    const latest = await this.node.block('latest', signal);
    const depth = BigInt(this.confirmations - 1);
    if (depth === 0n || latest.number === 0n) return latest;
    return this.node.block(latest.number > depth ? latest.number - depth : 0n, signal);
  }

  /** What the transaction that used an authorization did. */
  private async stateAfter(hash: string, authorization: Authorization, signal: AbortSignal): Promise<OnChain> {
    const receipt = await this.node.receipt(hash, signal);
    if (!receipt) throw new ChainError('nonsense', 'the node has a log of a transaction without its receipt');
    switch (readAuthorizationUse(receipt.logs, { asset: this.token.address, authorization })) {
      case 'transferred':
        return { state: 'settled', transaction: hash };
      case 'canceled':
        return { state: 'void', message: 'The payer canceled the authorization.' };
      case 'mismatch':
        return {
          state: 'void',
          message: withoutTransfer,
        };
      case 'absent':
        throw new ChainError('nonsense', 'the node has a log that is not in the receipt of its transaction');
    }
  }

  /** Returns the transaction that used or canceled an authorization. Searches backwards: it is recent, as a rule. */
  private async findUse({ from, nonce }: Authorization, last: bigint, signal: AbortSignal): Promise<string> {
    const topics = [[usedTopic, canceledTopic], topicOfAddress(from), nonce];
    const address = this.token.address;
    const oldest = last > maxSearchedBlocks ? last - maxSearchedBlocks : 0n;
    let step = searchBlocks;
    for (let to = last; to >= oldest && to >= 0n;) {
      const first = to - step + 1n > oldest ? to - step + 1n : oldest;
      const logs = await this.logsOrFewer({ address, topics, from: first, to }, signal);
      if (logs === null) {
        step /= 2n;
        if (step < minSearchBlocks) throw new ChainError('refused', 'the node searches no logs of even 50 blocks');
        continue;
      }
      const found = logs.find(({ removed }) => removed !== true);
      if (found) return found.transactionHash;
      to = first - 1n;
    }
    throw new ChainError('unusable', 'an authorization is used, but no recent log says by which transaction');
  }

  /** Null: the node refuses, as it does when the range is too large for it. */
  private async logsOrFewer(filter: Parameters<EvmNode['logs']>[0], signal: AbortSignal): Promise<EvmLog[] | null> {
    try {
      return await this.node.logs(filter, signal);
    } catch (error) {
      if (error instanceof ChainError && error.fault !== 'nonsense') return null;
      throw error;
    }
  }
}
