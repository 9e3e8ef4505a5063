import type { PaymentExecutionNetwork } from '#platform/config';
import type { JsonRpcClient } from '../json-rpc.client.js';
import type { PaymentNetworkAccess, PaymentNetworkDependencies } from '../payment-network-access.js';
import { SolanaChain } from './solana-chain.js';
import { SolanaFacilitator } from './solana-facilitator.js';
import { SolanaKey } from './solana-key.js';
import { SolanaNode } from './solana-node.js';

export function openSolanaNetwork(
  { feePayerKey, commitment }: PaymentExecutionNetwork,
  rpc: JsonRpcClient,
  { logger, settleMs, pollMs }: PaymentNetworkDependencies,
): PaymentNetworkAccess {
  const node = new SolanaNode(rpc, commitment);
  if (feePayerKey === null) return { facilitator: null, chain: new SolanaChain(node, null) };
  const feePayer = new SolanaKey(feePayerKey);
  const chain = new SolanaChain(node, feePayer);
  return { chain, facilitator: new SolanaFacilitator({ node, chain, feePayer, logger, settleMs, pollMs }) };
}
