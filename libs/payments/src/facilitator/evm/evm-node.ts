import { decodeErrorResult, parseAbi } from 'viem/utils';
import { ChainError } from '../chain-error.js';
import type { JsonRpcClient } from '../json-rpc.client.js';
import type { Hex } from './authorization.js';
import type { EvmLog } from './transfer-logs.js';

export interface EvmBlock {
  readonly number: bigint;
  readonly hash: string;
  /** Seconds since the epoch, by the clock of the chain. */
  readonly timestamp: bigint;
  /** Wei per unit of gas; 0 on a chain without a base fee. */
  readonly baseFee: bigint;
}

export interface EvmReceipt {
  readonly isSuccess: boolean;
  readonly blockNumber: bigint;
  readonly blockHash: string;
  readonly logs: readonly EvmLog[];
}

export interface EvmCall {
  readonly to: Hex;
  readonly data: Hex;
  readonly from?: Hex;
  readonly gas?: bigint;
}

/** What a call returned, or why the contract reverted. */
export type CallResult = { readonly returned: Hex } | { readonly reverted: string };

const revertAbi = parseAbi(['error Error(string)']);

/** The calls of an EVM node that payments need. Quantities are checked: a node that answers nonsense is none. */
export class EvmNode {
  constructor(private readonly rpc: JsonRpcClient) {}

  async chainId(signal: AbortSignal): Promise<bigint> {
    return quantity('eth_chainId', await this.rpc.call('eth_chainId', [], signal));
  }

  async block(at: bigint | 'latest', signal: AbortSignal): Promise<EvmBlock> {
    const method = 'eth_getBlockByNumber';
    const answer = await this.rpc.call(method, [tagOf(at), false], signal);
    const { number, hash, timestamp, baseFeePerGas } = record(method, answer);
    return {
      number: quantity(method, number),
      hash: text(method, hash),
      timestamp: quantity(method, timestamp),
      baseFee: baseFeePerGas === undefined || baseFeePerGas === null ? 0n : quantity(method, baseFeePerGas),
    };
  }

  async code(address: Hex, signal: AbortSignal): Promise<Hex> {
    return hex('eth_getCode', await this.rpc.call('eth_getCode', [address, 'latest'], signal));
  }

  /** Wei. */
  async balance(address: Hex, signal: AbortSignal): Promise<bigint> {
    return quantity('eth_getBalance', await this.rpc.call('eth_getBalance', [address, 'latest'], signal));
  }

  /** Transactions of `address`: mined ones, or with those that the node holds. */
  async transactionCount(address: Hex, at: 'latest' | 'pending', signal: AbortSignal): Promise<bigint> {
    const method = 'eth_getTransactionCount';
    return quantity(method, await this.rpc.call(method, [address, at], signal));
  }

  async call(call: EvmCall, at: bigint | 'latest', signal: AbortSignal): Promise<CallResult> {
    return this.orRevert(async () => {
      const answer = await this.rpc.call('eth_call', [parametersOf(call), tagOf(at)], signal);
      return { returned: hex('eth_call', answer) };
    });
  }

  /** Units of gas, or why the contract reverted. */
  async estimateGas(call: EvmCall, signal: AbortSignal): Promise<bigint | { readonly reverted: string }> {
    return this.orRevert(async () => {
      const answer = await this.rpc.call('eth_estimateGas', [parametersOf(call)], signal);
      return quantity('eth_estimateGas', answer);
    });
  }

  /** Wei per unit of gas; 0 where the node does not know the method. */
  async priorityFee(signal: AbortSignal): Promise<bigint> {
    const method = 'eth_maxPriorityFeePerGas';
    try {
      return quantity(method, await this.rpc.call(method, [], signal));
    } catch (error) {
      if (error instanceof ChainError && error.fault === 'refused') return 0n;
      throw error;
    }
  }

  async send(raw: Hex, signal: AbortSignal): Promise<void> {
    await this.rpc.call('eth_sendRawTransaction', [raw], signal);
  }

  /** Null: not mined. */
  async receipt(hash: string, signal: AbortSignal): Promise<EvmReceipt | null> {
    const method = 'eth_getTransactionReceipt';
    const answer = await this.rpc.call(method, [hash], signal);
    if (answer === null) return null;
    const { status, blockNumber, blockHash, logs } = record(method, answer);
    return {
      isSuccess: quantity(method, status) === 1n,
      blockNumber: quantity(method, blockNumber),
      blockHash: text(method, blockHash),
      logs: logsOf(method, logs),
    };
  }

  async logs(
    filter: { address: string; topics: readonly (string | readonly string[])[]; from: bigint; to: bigint },
    signal: AbortSignal,
  ): Promise<EvmLog[]> {
    const { address, topics, from, to } = filter;
    const range = { address, topics, fromBlock: tagOf(from), toBlock: tagOf(to) };
    return logsOf('eth_getLogs', await this.rpc.call('eth_getLogs', [range], signal));
  }

  private async orRevert<Result>(ask: () => Promise<Result>): Promise<Result | { reverted: string }> {
    try {
      return await ask();
    } catch (error) {
      const reverted = revertReason(error);
      if (reverted === null) throw error;
      return { reverted };
    }
  }
}

/** Nodes report a revert as code 3, or as an error whose message or data says so. Null: another error. */
function revertReason(error: unknown): string | null {
  if (!(error instanceof ChainError) || error.refusal === undefined) return null;
  const data = revertData(error.refusal.data);
  const isRevert = error.refusal.code === 3 || data !== null || /revert|out of gas/i.test(error.message);
  if (!isRevert) return null;
  if (data === null) return 'the token refuses it without a reason';
  try {
    const { args } = decodeErrorResult({ abi: revertAbi, data });
    return args[0].replaceAll(/[^\x20-\x7e]/g, ' ').slice(0, 200);
  } catch {
    return `the token refuses it with ${data.slice(0, 10)}`;
  }
}

function revertData(data: unknown): Hex | null {
  if (typeof data === 'string') return /^0x[0-9a-fA-F]{8,}$/.test(data) ? (data as Hex) : null;
  return typeof data === 'object' && data !== null && 'data' in data ? revertData(data.data) : null;
}

function parametersOf({ to, data, from, gas }: EvmCall) {
  return { to, data, ...(from !== undefined && { from }), ...(gas !== undefined && { gas: tagOf(gas) }) };
}

function tagOf(value: bigint | 'latest'): string {
  return typeof value === 'bigint' ? `0x${value.toString(16)}` : value;
}

function nonsense(method: string): ChainError {
  return new ChainError('nonsense', `${method}: an answer that is not of its kind`);
}

function record(method: string, value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw nonsense(method);
  return value as Record<string, unknown>;
}

function text(method: string, value: unknown): string {
  if (typeof value !== 'string') throw nonsense(method);
  return value.toLowerCase();
}

function hex(method: string, value: unknown): Hex {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]*$/.test(value)) throw nonsense(method);
  return value as Hex;
}

function quantity(method: string, value: unknown): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value)) throw nonsense(method);
  return BigInt(value);
}

function logsOf(method: string, value: unknown): EvmLog[] {
  if (!Array.isArray(value)) throw nonsense(method);
  return value.map((log) => {
    const { address, topics, data, transactionHash, blockHash, removed } = record(method, log);
    if (!Array.isArray(topics)) throw nonsense(method);
    return {
      address: text(method, address),
      topics: topics.map((topic) => text(method, topic)),
      data: text(method, data),
      transactionHash: text(method, transactionHash),
      blockHash: text(method, blockHash),
      removed: removed === true,
    };
  });
}
