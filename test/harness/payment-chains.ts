import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { baseToken, deployToken, type EvmContract, mintTokens } from './evm-contracts.js';
import { EvmNode } from './evm-node.js';
import { encodeBase58, generateSolanaKeyPair, solanaMint, SolanaVm } from './solana-vm.js';

/** Base and Solana on this machine, with the payment token at its real addresses, and a platform's settings for both. */
export interface PaymentChains {
  node: EvmNode;
  token: EvmContract;
  vm: SolanaVm;
  /** Who is paid. */
  payTo: { evm: string; solana: string };
  /** For `PlatformOptions.processEnv`. */
  environment: { api: Record<string, string>; ops: Record<string, string> };
  stop(): Promise<void>;
}

export async function startPaymentChains(): Promise<PaymentChains> {
  const [node, vm] = await Promise.all([EvmNode.start(), SolanaVm.start()]);
  const token = await deployToken(node, { address: baseToken });
  const feePayer = { evm: generatePrivateKey(), solana: generateSolanaKeyPair() };
  const payTo = { evm: privateKeyToAccount(generatePrivateKey()).address, solana: generateSolanaKeyPair().address };
  await node.fund(privateKeyToAccount(feePayer.evm).address);
  await vm.fund(feePayer.solana.address);
  await vm.openTokenAccount(payTo.solana);
  const terms = {
    SLUICE_PAYMENT_EVM_ADDRESS: payTo.evm,
    SLUICE_PAYMENT_EVM_ASSET: baseToken,
    SLUICE_PAYMENT_SOLANA_ADDRESS: payTo.solana,
    SLUICE_PAYMENT_SOLANA_ASSET: solanaMint,
    SLUICE_PAYMENT_SOLANA_FEE_PAYER: feePayer.solana.address,
  };
  const ops = {
    ...terms,
    SLUICE_PAYMENT_EVM_RPC_URL: node.url,
    SLUICE_PAYMENT_EVM_FEE_PAYER_KEY: feePayer.evm,
    SLUICE_PAYMENT_SOLANA_RPC_URL: vm.url,
    SLUICE_PAYMENT_SOLANA_FEE_PAYER_KEY: encodeBase58(feePayer.solana.secretKey),
  };
  const api = { ...terms, SLUICE_RPC_UPSTREAMS: `base-mainnet=${node.url} solana-mainnet=${vm.url}` };
  const stop = async () => void (await Promise.all([node.stop(), vm.stop()]));
  return { node, token, vm, payTo, environment: { api, ops }, stop };
}

export interface EvmPayer {
  address: string;
  privateKey: `0x${string}`;
}

/** A wallet with tokens and nothing else: it pays no gas. In base units. */
export async function createEvmPayer({ token }: PaymentChains, amount: bigint): Promise<EvmPayer> {
  const privateKey = generatePrivateKey();
  const { address } = privateKeyToAccount(privateKey);
  await mintTokens(token, address, amount);
  return { address, privateKey };
}

export interface SolanaPayer {
  address: string;
  /** 64 bytes in base64. */
  secretKey: string;
}

/** As above, on Solana. */
export async function createSolanaPayer({ vm }: PaymentChains, amount: bigint): Promise<SolanaPayer> {
  const { address, secretKey } = generateSolanaKeyPair();
  await vm.mintTokens(address, amount);
  return { address, secretKey: Buffer.from(secretKey).toString('base64') };
}
