import type { OperatorResponse } from '#egress';
import type { ChainFamily, RpcNetwork } from '../networks.js';

/** What a node says of its chain. */
export interface ChainState {
  /** As `RpcNetwork.chainId`. */
  chainId: string;
  /** Number of its last block; Solana: its slot. */
  height: bigint;
}

/** The node answered something else. The message is for the operator. */
export class ChainStateError extends Error {
  override readonly name = 'ChainStateError';
}

const questions: Record<ChainFamily, { chain: string; height: string }> = {
  evm: { chain: 'eth_chainId', height: 'eth_blockNumber' },
  solana: { chain: 'getGenesisHash', height: 'getSlot' },
  starknet: { chain: 'starknet_chainId', height: 'starknet_blockNumber' },
};

/** Two requests and no batch, which some nodes refuse. Rejects as `ask`, and with `ChainStateError`. */
export async function readChainState(
  { family }: RpcNetwork,
  ask: (body: Uint8Array) => Promise<OperatorResponse>,
): Promise<ChainState> {
  const { chain, height } = questions[family];
  const [chainId, block] = await Promise.all(
    [chain, height].map(async (method) => resultOf(method, await ask(bodyOf(method)))),
  );
  return { chainId: chainText(family, chainId), height: heightOf(height, block) };
}

function bodyOf(method: string): Uint8Array {
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] }));
}

function resultOf(method: string, { status, bytes }: OperatorResponse): unknown {
  let answer: unknown;
  try {
    answer = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new ChainStateError(`it answers ${method} with status ${status} and no JSON`);
  }
  const { result } = (typeof answer === 'object' && answer !== null ? answer : {}) as { result?: unknown };
  if (result === undefined || result === null)
    throw new ChainStateError(`it answers ${method} with status ${status} and no result`);
  return result;
}

/** EVM ids are numbers; those of Starknet are text, which its nodes write in hex digits. */
function chainText(family: ChainFamily, result: unknown): string {
  const text = typeof result === 'string' ? result.slice(0, 128) : '';
  if (family === 'solana') return text;
  if (!/^0x[0-9a-fA-F]+$/.test(text)) return text;
  if (family === 'evm') return String(BigInt(text));
  return Buffer.from(text.slice(2), 'hex').toString('latin1');
}

function heightOf(method: string, result: unknown): bigint {
  if (typeof result === 'number' && Number.isSafeInteger(result)) return BigInt(result);
  if (typeof result === 'string' && /^0x[0-9a-fA-F]{1,32}$/.test(result)) return BigInt(result);
  throw new ChainStateError(`it answers ${method} with no number`);
}
