import { type Abi, decodeFunctionResult, encodeDeployData, encodeFunctionData } from 'viem';
import { type PrivateKeyAccount } from 'viem/accounts';
import { runChainProgram } from './chain-program.js';
import type { EvmNode } from './evm-node.js';

type Hex = `0x${string}`;

/** Contracts of `test/chains/programs/contracts`. */
export type ContractName =
  'PaymentToken' | 'FeeToken' | 'HollowToken' | 'Staking' | 'SignatureWallet' | 'WalletFactory';

interface Artifact {
  abi: Abi;
  bytecode: Hex;
}

let artifacts: Promise<Record<ContractName, Artifact>> | null = null;

/** Compiles the contracts once per process; the output is kept on disk until a source changes. */
export async function contractArtifact(name: ContractName): Promise<Artifact> {
  artifacts ??= runChainProgram('compile.mjs').then((text) => JSON.parse(text) as Record<ContractName, Artifact>);
  return (await artifacts)[name];
}

/** A contract on a local node. Its transactions are sent by the node's first account unless `from` is given. */
export class EvmContract {
  private constructor(
    readonly node: EvmNode,
    readonly address: Hex,
    readonly abi: Abi,
  ) {}

  /** Deploys it; makes a block where the node makes none by itself. */
  static async deploy(node: EvmNode, name: ContractName, args: readonly unknown[] = []): Promise<EvmContract> {
    const { abi, bytecode } = await contractArtifact(name);
    const [from = ''] = await node.accounts();
    const hash = await node.send({ from, data: encodeDeployData({ abi, bytecode, args }) });
    const receipt = await receiptOf(node, hash);
    return new EvmContract(node, receipt.contractAddress as Hex, abi);
  }

  /** Puts the code of this contract at an address; its storage stays behind. */
  async copyTo(address: Hex): Promise<EvmContract> {
    const code = await this.node.request('eth_getCode', [this.address, 'latest']);
    await this.node.request('hardhat_setCode', [address, code]);
    return new EvmContract(this.node, address, this.abi);
  }

  /** Calls a function that changes nothing. */
  async read<Result>(functionName: string, args: readonly unknown[] = []): Promise<Result> {
    const data = encodeFunctionData({ abi: this.abi, functionName, args });
    const result = await this.node.request<Hex>('eth_call', [{ to: this.address, data }, 'latest']);
    return decodeFunctionResult({ abi: this.abi, functionName, data: result }) as Result;
  }

  /** Sends a transaction; resolves to its hash, mined or not. Rejects with the reason when the contract refuses it. */
  async write(functionName: string, args: readonly unknown[], from?: string): Promise<Hex> {
    const data = encodeFunctionData({ abi: this.abi, functionName, args });
    const sender = from ?? (await this.node.accounts())[0] ?? '';
    return await this.node.send({ from: sender, to: this.address, data });
  }
}

async function receiptOf(node: EvmNode, hash: Hex): Promise<{ contractAddress: string }> {
  const read = () => node.request<{ contractAddress: string } | null>('eth_getTransactionReceipt', [hash]);
  const receipt = await read();
  if (receipt) return receipt;
  await node.mine();
  const mined = await read();
  if (!mined) throw new Error(`transaction ${hash} was not mined`);
  return mined;
}

/** What the payment token of a real chain says of itself. */
export const tokenDomain = { name: 'USD Coin', version: '2' };

export interface TokenOptions {
  name?: string;
  version?: string;
  /** `FeeToken` moves less than was signed, `HollowToken` nothing. */
  kind?: 'PaymentToken' | 'FeeToken' | 'HollowToken';
  /** Where to put it, such as `baseToken`; default: anywhere. */
  address?: Hex;
}

/** Address of the payment token on Base, which clients know. */
export const baseToken = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';

/** Deploys a payment token (EIP-3009, six decimals). */
export async function deployToken(node: EvmNode, options: TokenOptions = {}): Promise<EvmContract> {
  const { name = tokenDomain.name, version = tokenDomain.version, kind = 'PaymentToken', address } = options;
  const token = await EvmContract.deploy(node, kind, [name, version]);
  if (address === undefined) return token;
  const copy = await token.copyTo(address);
  await copy.write('initialize', [name, version]);
  return copy;
}

/** Creates tokens of an address out of nothing; in base units. */
export async function mintTokens(token: EvmContract, to: string, amount: bigint): Promise<void> {
  await token.write('mint', [to, amount]);
}

/** In base units. */
export async function tokensOf(token: EvmContract, address: string): Promise<bigint> {
  return await token.read<bigint>('balanceOf', [address]);
}

/** A transfer as its payer signs it (EIP-3009), with numbers as decimal text, as payments carry them. */
export interface TransferAuthorization {
  from: Hex;
  to: Hex;
  value: string;
  /** Unix seconds, both exclusive. */
  validAfter: string;
  validBefore: string;
  nonce: Hex;
}

export interface SignedTransfer {
  authorization: TransferAuthorization;
  signature: Hex;
}

/** Types of the typed data (EIP-712) of a transfer. */
export const transferTypes = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

export interface TransferOptions {
  to: string;
  /** Base units. */
  value: bigint;
  validAfter?: number;
  /** Default: 300 s from now. */
  validBefore?: number;
  nonce?: Hex;
  /** Changes the domain that is signed, which the contract then refuses. */
  domain?: { name?: string; version?: string; chainId?: number; verifyingContract?: Hex };
}

/** Signs a transfer of `token` by `payer`. */
export async function signTransfer(
  token: EvmContract,
  payer: PrivateKeyAccount,
  { to, value, validAfter = 0, validBefore, nonce, domain = {} }: TransferOptions,
): Promise<SignedTransfer> {
  const authorization: TransferAuthorization = {
    from: payer.address,
    to: to as Hex,
    value: value.toString(),
    validAfter: String(validAfter),
    validBefore: String(validBefore ?? Math.floor(Date.now() / 1000) + 300),
    nonce: nonce ?? randomNonce(),
  };
  const name = await token.read<string>('name');
  const version = await token.read<string>('version');
  const { chainId } = token.node;
  const signature = await payer.signTypedData({
    domain: { name, version, chainId, verifyingContract: token.address, ...domain },
    types: transferTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      value,
      validAfter: BigInt(authorization.validAfter),
      validBefore: BigInt(authorization.validBefore),
    },
  });
  return { authorization, signature };
}

/** Submits a signed transfer as anybody may; resolves to the hash of the transaction. */
export async function submitTransfer(token: EvmContract, transfer: SignedTransfer, from?: string): Promise<Hex> {
  const { from: payer, to, value, validAfter, validBefore, nonce } = transfer.authorization;
  const numbers = [value, validAfter, validBefore].map(BigInt);
  const sender = from ?? (await token.node.accounts())[1] ?? '';
  const data = encodeFunctionData({
    abi: token.abi.filter((item) => item.type !== 'function' || item.inputs.length !== 9),
    functionName: 'transferWithAuthorization',
    args: [payer, to, ...numbers, nonce, transfer.signature],
  });
  return await token.node.send({ from: sender, to: token.address, data });
}

function randomNonce(): Hex {
  return `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}`;
}
