import { startChainProgram } from './chain-program.js';

export interface EvmNodeOptions {
  /** Default: that of Base. */
  chainId?: number;
  /** Whether each transaction gets its own block at once; default true. Otherwise `mine` makes blocks. */
  automine?: boolean;
  /** How far the clock of the chain is from that of the machine, in seconds; negative: it lags. */
  clockOffsetS?: number;
}

/** A local EVM chain, with control over its blocks and its time. Rich accounts can be used without their keys. */
export class EvmNode {
  private calls = 0;

  private constructor(
    /** Where it answers JSON-RPC. */
    readonly url: string,
    readonly chainId: number,
    /** Ends the process; the chain is gone. */
    readonly stop: () => Promise<void>,
  ) {}

  static async start({ chainId = 8453, automine = true, clockOffsetS = 0 }: EvmNodeOptions = {}): Promise<EvmNode> {
    const startedAt = new Date(Date.now() + clockOffsetS * 1000).toISOString();
    const settings = { chainId, automine, startedAt };
    const { url, stop } = await startChainProgram('evm-node.mjs', { SLUICE_TEST_EVM_NODE: JSON.stringify(settings) });
    return new EvmNode(url, chainId, stop);
  }

  /** Rejects with the message of the node. */
  async request<Result>(method: string, params: readonly unknown[] = []): Promise<Result> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: ++this.calls, method, params });
    const response = await fetch(this.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const answer = (await response.json()) as { result: Result; error?: { message: string } };
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result;
  }

  /** Addresses with 10,000 of the chain's currency each, whose transactions the node signs. */
  async accounts(): Promise<`0x${string}`[]> {
    return await this.request('eth_accounts');
  }

  /** Gives an address 100 of the chain's currency, for the fees of its transactions. */
  async fund(address: string): Promise<void> {
    await this.request('hardhat_setBalance', [address, `0x${(100n * 10n ** 18n).toString(16)}`]);
  }

  /** Makes empty blocks, or the first one from waiting transactions. */
  async mine(blocks = 1): Promise<void> {
    await this.request('hardhat_mine', [`0x${blocks.toString(16)}`]);
  }

  async setAutomine(isOn: boolean): Promise<void> {
    await this.request('evm_setAutomine', [isOn]);
  }

  /** Unix time of the newest block, in seconds. */
  async time(): Promise<number> {
    const { timestamp } = await this.request<{ timestamp: string }>('eth_getBlockByNumber', ['latest', false]);
    return Number(timestamp);
  }

  /** Moves the clock of the chain forward, and makes a block. */
  async passTime(seconds: number): Promise<void> {
    await this.request('evm_increaseTime', [seconds]);
    await this.mine();
  }

  /** Sets the time of the next block, unix seconds; at least that of the newest one. */
  async setNextTime(seconds: number): Promise<void> {
    await this.request('evm_setNextBlockTimestamp', [seconds]);
  }

  /** Returns what forgets all that follows: with other blocks after it, this is a reorganization. Works once. */
  async snapshot(): Promise<() => Promise<void>> {
    const id = await this.request<string>('evm_snapshot');
    return async () => {
      if (!(await this.request<boolean>('evm_revert', [id]))) throw new Error('the snapshot is gone');
    };
  }

  /** Sends a transaction of one of `accounts`, or of any `from` if its key is not needed; resolves to its hash. */
  async send(transaction: { from: string; to?: string; data?: string; value?: string }): Promise<`0x${string}`> {
    return await this.request('eth_sendTransaction', [{ gas: '0x5b8d80', ...transaction }]);
  }
}
