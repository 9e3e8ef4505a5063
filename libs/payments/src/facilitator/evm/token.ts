import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem/utils';
import { ChainError } from '../chain-error.js';
import type { Authorization, Hex, SignedAuthorization } from './authorization.js';
import type { CallResult, EvmNode } from './evm-node.js';
import { splitSignature } from './typed-data.js';

const views = parseAbi([
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function decimals() view returns (uint8)',
  'function name() view returns (string)',
  'function version() view returns (string)',
]);
const byKey = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
]);
const byContract = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
]);

/** The call that submits an authorization. Every token understands signatures of keys, newer ones those of contracts. */
export function encodeTransfer({ authorization, signature }: SignedAuthorization): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const terms = [from, to, value, validAfter, validBefore, nonce] as const;
  const functionName = 'transferWithAuthorization';
  const split = splitSignature(signature);
  if (!split) return encodeFunctionData({ abi: byContract, functionName, args: [...terms, signature] });
  return encodeFunctionData({ abi: byKey, functionName, args: [...terms, split.v, split.r, split.s] });
}

/** The views of a token with EIP-3009. Views that it lacks are null. */
export class Token {
  constructor(
    private readonly node: EvmNode,
    readonly address: Hex,
  ) {}

  /** Whether an authorization was used or canceled, as of a block. */
  async isSpent({ from, nonce }: Authorization, at: bigint | 'latest', signal: AbortSignal): Promise<boolean> {
    const functionName = 'authorizationState';
    const data = encodeFunctionData({ abi: views, functionName, args: [from, nonce] });
    const result = await this.node.call({ to: this.address, data }, at, signal);
    const spent = decodeOr(result, (returned) => decodeFunctionResult({ abi: views, functionName, data: returned }));
    if (spent === null)
      throw new ChainError('unusable', `${this.address} has no authorizationState: it is no token with EIP-3009`);
    return spent;
  }

  async balanceOf(owner: Hex, signal: AbortSignal): Promise<bigint | null> {
    const functionName = 'balanceOf';
    const data = encodeFunctionData({ abi: views, functionName, args: [owner] });
    const result = await this.node.call({ to: this.address, data }, 'latest', signal);
    return decodeOr(result, (returned) => decodeFunctionResult({ abi: views, functionName, data: returned }));
  }

  async decimals(signal: AbortSignal): Promise<number | null> {
    const functionName = 'decimals';
    const data = encodeFunctionData({ abi: views, functionName });
    const result = await this.node.call({ to: this.address, data }, 'latest', signal);
    return decodeOr(result, (returned) => decodeFunctionResult({ abi: views, functionName, data: returned }));
  }

  async view(functionName: 'DOMAIN_SEPARATOR' | 'name' | 'version', signal: AbortSignal): Promise<string | null> {
    const data = encodeFunctionData({ abi: views, functionName });
    const result = await this.node.call({ to: this.address, data }, 'latest', signal);
    return decodeOr(result, (returned) => decodeFunctionResult({ abi: views, functionName, data: returned }));
  }
}

function decodeOr<Value>(result: CallResult, decode: (returned: Hex) => Value): Value | null {
  if (!('returned' in result) || result.returned === '0x') return null;
  try {
    return decode(result.returned);
  } catch {
    return null;
  }
}
