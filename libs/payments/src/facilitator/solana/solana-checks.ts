import type { PaymentExecutionNetwork } from '#platform/config';
import { encodeBase58 } from '#accounts';
import { ChainError } from '../chain-error.js';
import type { JsonRpcClient } from '../json-rpc.client.js';
import type { StartCheck } from '../start-check.js';
import { SolanaKey } from './solana-key.js';
import { SolanaNode } from './solana-node.js';
import { associatedTokenAccount, tokenProgram } from './token-account.js';

/** Two signatures, without a priority fee. */
const lamportsPerPayment = 10_000;
/** The operator is warned when fewer payments than this are left. */
const fewPayments = 50;
const mintBytes = 82;
const decimalsOffset = 44;
const accountBytes = 165;
const stateOffset = 108;
const frozen = 2;

/** Compares what the operator has set with what the chain says. */
export async function checkSolanaNetwork(
  network: PaymentExecutionNetwork,
  rpc: JsonRpcClient,
  signal: AbortSignal,
): Promise<StartCheck> {
  const node = new SolanaNode(rpc, network.commitment);
  const genesis = await node.genesisHash(signal);
  if (network.network !== `solana:${genesis.slice(0, 32)}`)
    return {
      problems: [`The node is one of solana:${genesis.slice(0, 32)}, not of ${network.network}.`],
      warnings: [],
    };
  const { problems, warnings } = await checkReceiver(network, node, signal);
  const { feePayerKey, extra } = network;
  const feePayer = extra.feePayer ?? '';
  if (feePayerKey === null || problems.length > 0) return { problems, warnings };
  const problem = problemOfKey(feePayerKey, feePayer);
  if (problem !== null) return { problems: [...problems, problem], warnings };
  const left = Math.floor((await node.balance(feePayer, signal)) / lamportsPerPayment);
  if (left === 0) warnings.push(`The fee payer ${feePayer} has no SOL for fees; send it some.`);
  else if (left < fewPayments) warnings.push(`The fee payer ${feePayer} has SOL for about ${left} payments.`);
  return { problems, warnings };
}

function problemOfKey(feePayerKey: string, feePayer: string): string | null {
  try {
    const { address } = new SolanaKey(feePayerKey);
    if (address === feePayer) return null;
    return `The key of the fee payer is that of ${address}; offers name ${feePayer}.`;
  } catch (error) {
    if (error instanceof ChainError) return `The fee payer cannot sign: ${error.message}.`;
    throw error;
  }
}

async function checkReceiver(
  { asset, payTo }: PaymentExecutionNetwork,
  node: SolanaNode,
  signal: AbortSignal,
): Promise<{ problems: string[]; warnings: string[] }> {
  const problem = (text: string) => ({ problems: [text], warnings: [] });
  const mint = await node.account(asset, signal);
  if (mint === null) return problem(`There is no mint at the asset ${asset}.`);
  if (mint.owner !== tokenProgram)
    return problem(
      `The asset ${asset} belongs to the program ${mint.owner}, whose transfers may take a fee; expected ${tokenProgram}.`,
    );
  const decimals = mint.data.length === mintBytes ? mint.data[decimalsOffset] : undefined;
  if (decimals !== 6) return problem(`The mint ${asset} has ${decimals ?? 'no'} decimals; top-ups need six.`);
  const destination = associatedTokenAccount({ owner: payTo, mint: asset });
  const account = await node.account(destination, signal);
  if (account === null)
    return problem(
      `${payTo} has no token account for ${asset}. Create ${destination} with its wallet, for example by sending it a ` +
        'little of the token; payments cannot create it.',
    );
  const { data } = account;
  if (data.length < accountBytes || encodeBase58(data.subarray(32, 64)) !== payTo)
    return problem(`The token account ${destination} does not belong to ${payTo}.`);
  const isFrozen = data[stateOffset] === frozen;
  return { problems: [], warnings: isFrozen ? [`The token account ${destination} is frozen.`] : [] };
}
