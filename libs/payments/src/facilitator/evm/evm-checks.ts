import { privateKeyToAddress } from 'viem/accounts';
import type { PaymentExecutionNetwork } from '#platform/config';
import type { StartCheck } from '../start-check.js';
import type { Hex } from './authorization.js';
import type { EvmNode } from './evm-node.js';
import { Token } from './token.js';
import { describeDomain, separatorOf, type TokenDomain } from './typed-data.js';

/** Gas of one transfer, for the estimate of how many the fee payer can pay. */
const transferGas = 100_000n;
/** The operator is warned when fewer transfers than this are left. */
const fewTransfers = 50n;

export function chainIdOf(network: string): number {
  return Number(network.slice('eip155:'.length));
}

export function keyOf(feePayerKey: string): Hex {
  return feePayerKey.startsWith('0x') ? (feePayerKey as Hex) : `0x${feePayerKey}`;
}

/** Compares what the operator has set with what the chain says. */
export async function checkEvmNetwork(
  network: PaymentExecutionNetwork,
  node: EvmNode,
  signal: AbortSignal,
): Promise<StartCheck> {
  const problems: string[] = [];
  const warnings: string[] = [];
  const chainId = await node.chainId(signal);
  if (chainId !== BigInt(chainIdOf(network.network)))
    return { problems: [`The node is one of chain ${chainId}, not of ${network.network}.`], warnings };
  problems.push(...(await checkToken(network, node, signal)));
  if (network.feePayerKey === null || problems.length > 0) return { problems, warnings };
  const feePayer = privateKeyToAddress(keyOf(network.feePayerKey));
  const balance = await node.balance(feePayer, signal);
  const { baseFee } = await node.block('latest', signal);
  const left = balance / (transferGas * (baseFee > 0n ? baseFee : 1n));
  if (balance === 0n) warnings.push(`The fee payer ${feePayer} has no funds for gas; send it some.`);
  else if (left < fewTransfers) warnings.push(`The fee payer ${feePayer} has gas for about ${left} payments.`);
  return { problems, warnings };
}

async function checkToken(
  { network, asset, payTo, extra }: PaymentExecutionNetwork,
  node: EvmNode,
  signal: AbortSignal,
): Promise<string[]> {
  const address = asset.toLowerCase() as Hex;
  if ((await node.code(address, signal)) === '0x') return [`There is no contract at the asset ${asset} on ${network}.`];
  if (payTo.toLowerCase() === address) return [`Payments go to the token contract ${payTo} itself, and would be lost.`];
  const token = new Token(node, address);
  const decimals = await token.decimals(signal);
  if (decimals !== 6) return [`The token ${asset} has ${decimals ?? 'no'} decimals; top-ups need six.`];
  const separator = await token.view('DOMAIN_SEPARATOR', signal);
  if (separator === null) return [`The token ${asset} has no DOMAIN_SEPARATOR(): it does not know EIP-3009.`];
  const { name = '', version = '' } = extra;
  const domain: TokenDomain = { name, version, chainId: chainIdOf(network), verifyingContract: address };
  if (separatorOf(domain) === separator) return [];
  const [itsName, itsVersion] = await Promise.all([token.view('name', signal), token.view('version', signal)]);
  return [
    `The EIP-712 domain of the token is not ${describeDomain(domain)}: every payment would be refused. ` +
      `The contract calls itself name "${itsName ?? '?'}", version "${itsVersion ?? '?'}".`,
  ];
}
