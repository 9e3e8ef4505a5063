import type { PaymentExecutionNetwork } from '#platform/config';
import { ChainError } from './chain-error.js';
import { JsonRpcClient } from './json-rpc.client.js';
import type { PaymentNetworkAccess, PaymentNetworkDependencies } from './payment-network-access.js';
import type { StartCheck } from './start-check.js';

/** Loads the packages of the chain, which no process without payments needs. */
export async function openPaymentNetwork(
  network: PaymentExecutionNetwork,
  dependencies: PaymentNetworkDependencies,
): Promise<PaymentNetworkAccess> {
  const rpc = new JsonRpcClient(dependencies.nodeClient, network.rpcUrl);
  if (network.kind === 'solana') {
    const { openSolanaNetwork } = await import('./solana/solana-network.js');
    return openSolanaNetwork(network, rpc, dependencies);
  }
  const { openEvmNetwork } = await import('./evm/evm-network.js');
  return openEvmNetwork(network, rpc, dependencies);
}

/** Checks the settings of a network against its node. A node that gives no answer is a warning: it may be back soon. */
export async function checkPaymentNetwork(
  network: PaymentExecutionNetwork,
  { nodeClient }: Pick<PaymentNetworkDependencies, 'nodeClient'>,
  signal: AbortSignal,
): Promise<StartCheck> {
  const rpc = new JsonRpcClient(nodeClient, network.rpcUrl);
  try {
    if (network.kind === 'solana') {
      const { checkSolanaNetwork } = await import('./solana/solana-checks.js');
      return await checkSolanaNetwork(network, rpc, signal);
    }
    const { checkEvmNetwork } = await import('./evm/evm-checks.js');
    const { EvmNode } = await import('./evm/evm-node.js');
    return await checkEvmNetwork(network, new EvmNode(rpc), signal);
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    return { problems: [], warnings: [`The settings of ${network.network} could not be checked: ${error.message}.`] };
  }
}
