import { encodeEventTopics, parseAbi } from 'viem/utils';
import type { Authorization, Hex } from './authorization.js';

/** A log as `eth_getTransactionReceipt` returns it. */
export interface EvmLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly transactionHash: string;
  readonly blockHash: string;
  /** `removed` logs belong to a block that a reorganization has left behind. */
  readonly removed?: boolean;
}

const events = parseAbi([
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);

function topicOf(eventName: 'AuthorizationUsed' | 'AuthorizationCanceled' | 'Transfer'): string {
  return encodeEventTopics({ abi: events, eventName })[0].toLowerCase();
}

export const usedTopic = topicOf('AuthorizationUsed');
export const canceledTopic = topicOf('AuthorizationCanceled');
const transferTopic = topicOf('Transfer');

export function topicOfAddress(address: string): string {
  return `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
}

/** What a transaction did with an authorization. `absent`: nothing. */
export type AuthorizationUse = 'transferred' | 'mismatch' | 'canceled' | 'absent';

/**
 * Reads from the logs of a transaction, in their order, what became of an authorization. The first transfer of the token
 * behind its `AuthorizationUsed`, before any other authorization's, is the one that it made: a transaction may use several
 * authorizations, and none of their transfers may count twice.
 */
export function readAuthorizationUse(
  logs: readonly EvmLog[],
  { asset, authorization }: { asset: string; authorization: Authorization },
): AuthorizationUse {
  const ours = logs.filter(({ address, removed }) => address.toLowerCase() === asset.toLowerCase() && removed !== true);
  const at = ours.findIndex(({ topics }) => isOf(topics, authorization));
  if (at < 0) return 'absent';
  if (ours[at]?.topics[0]?.toLowerCase() === canceledTopic) return 'canceled';
  for (const log of ours.slice(at + 1)) {
    const topic = log.topics[0]?.toLowerCase();
    if (topic === usedTopic || topic === canceledTopic) break;
    if (topic === transferTopic) return isTransferOf(log, authorization) ? 'transferred' : 'mismatch';
  }
  return 'mismatch';
}

function isOf(topics: readonly string[], { from, nonce }: Authorization): boolean {
  const [topic = '', authorizer = '', used = ''] = topics.map((text) => text.toLowerCase());
  return (topic === usedTopic || topic === canceledTopic) && authorizer === topicOfAddress(from) && used === nonce;
}

function isTransferOf({ topics, data }: EvmLog, { from, to, value }: Authorization): boolean {
  const [, sender = '', receiver = ''] = topics.map((text) => text.toLowerCase());
  const amount = /^0x[0-9a-fA-F]{64}$/.test(data) ? BigInt(data as Hex) : null;
  return sender === topicOfAddress(from) && receiver === topicOfAddress(to) && amount === value;
}
