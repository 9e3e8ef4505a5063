import type { PaymentExecutionNetwork } from '#platform/config';
import type { JsonRpcClient } from '../json-rpc.client.js';
import type { PaymentNetworkAccess, PaymentNetworkDependencies } from '../payment-network-access.js';
import type { Hex } from './authorization.js';
import { EvmChain } from './evm-chain.js';
import { chainIdOf, keyOf } from './evm-checks.js';
import { EvmFacilitator } from './evm-facilitator.js';
import { EvmNode } from './evm-node.js';
import { FeePayer } from './fee-payer.js';
import { ResendingChain } from './resending-chain.js';

export function openEvmNetwork(
  { network, asset, feePayerKey, confirmations }: PaymentExecutionNetwork,
  rpc: JsonRpcClient,
  { sentTransactions: transactions, logger, settleMs, pollMs }: PaymentNetworkDependencies,
): PaymentNetworkAccess {
  const node = new EvmNode(rpc);
  const chain = new EvmChain(node, asset.toLowerCase() as Hex, confirmations);
  if (feePayerKey === null) return { facilitator: null, chain };
  const chainId = chainIdOf(network);
  const feePayer = new FeePayer(keyOf(feePayerKey), { network, chainId }, { node, transactions, logger });
  return {
    chain: new ResendingChain(chain, feePayer),
    facilitator: new EvmFacilitator({ node, chain, feePayer, chainId, confirmations, settleMs, pollMs }),
  };
}
