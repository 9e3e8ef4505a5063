import { PlatformError } from '#common';
import { refusedSignIn } from './refused-sign-in.js';

/** A signature that a contract judges. */
export interface ContractSignature {
  /** CAIP-2. */
  chainId: string;
  /** Lower case. */
  address: string;
  /** Of the signed text, as EIP-191 defines it: 0x and 64 hex digits. */
  digest: string;
  /** 0x and hex digits. */
  signature: string;
}

/** `isValidSignature(bytes32,bytes)`: its selector is also what it returns for a valid one (EIP-1271). */
const isValidSignature = '0x1626ba7e';
/** The end of a signature of a contract that is not deployed yet (EIP-6492). */
const counterfactual = '6492'.repeat(16);

const timeoutMs = 5_000;
/** What both kinds of calls return is one word. */
const maxBytes = 65_536;
/** Calls at once. Unauthenticated clients cause them, so they must not fill the node that also serves payments. */
const mostCalls = 8;

/** Sends a request to a node of the operator. */
export interface NodeClient {
  post(request: {
    url: string;
    body: Uint8Array;
    timeoutMs: number;
    maxBytes: number;
    signal: AbortSignal;
  }): Promise<{ status: number; bytes: Uint8Array }>;
}

/** Asks contract wallets about signatures, through a node of their chain. Nothing of it is loaded or called before that. */
export class ContractSignatures {
  private calls = 0;

  /** `rpcUrls`: by chain (CAIP-2). */
  constructor(
    private readonly rpcUrls: ReadonlyMap<string, string>,
    private readonly client: NodeClient,
  ) {}

  /**
   * Rejects with `X402_INVALID_SIGN_IN` where no node of the chain is configured, and with `SERVICE_UNAVAILABLE` when it
   * does not answer.
   */
  async isValid(signature: ContractSignature): Promise<boolean> {
    const rpcUrl = this.rpcUrls.get(signature.chainId);
    if (rpcUrl === undefined) {
      const message = 'This service cannot check signatures of contract wallets (eip1271, eip6492) on';
      throw refusedSignIn(
        `${message} ${signature.chainId}: no node of that chain is configured. Sign with a plain account.`,
      );
    }
    if (this.calls >= mostCalls) throw unavailable();
    this.calls += 1;
    try {
      return signature.signature.endsWith(counterfactual)
        ? isOne(await this.call(rpcUrl, await universalCall(signature)))
        : returnsMagic(await this.call(rpcUrl, { to: signature.address, data: plainCall(signature) }));
    } finally {
      this.calls -= 1;
    }
  }

  private async call(url: string, call: { to?: string; data: string }): Promise<string | null> {
    const request = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: [call, 'latest'] };
    const body = Buffer.from(JSON.stringify(request));
    const signal = new AbortController().signal;
    const sent = this.client.post({ url, body, timeoutMs, maxBytes, signal });
    const { status, bytes } = await sent.catch((cause: unknown) => {
      throw unavailable(cause);
    });
    if (status !== 200) throw unavailable();
    return readResult(bytes);
  }
}

function plainCall({ digest, signature }: ContractSignature): string {
  const bytes = signature.slice(2);
  const padded = bytes.padEnd(Math.ceil(bytes.length / 64) * 64, '0');
  return `${isValidSignature}${digest.slice(2)}${word(64)}${word(bytes.length / 2)}${padded}`;
}

const word = (value: number): string => value.toString(16).padStart(64, '0');

/** A call without a receiver runs the validator of EIP-6492, which deploys the wallet for the length of the call. */
async function universalCall({ address, digest, signature }: ContractSignature): Promise<{ data: string }> {
  // The whole of viem for one constant, but only once a wallet that is not deployed signs in.
  const { encodeDeployData, universalSignatureValidatorAbi, universalSignatureValidatorByteCode } =
    await import('viem');
  const args = [address as `0x${string}`, digest as `0x${string}`, signature as `0x${string}`] as const;
  const abi = universalSignatureValidatorAbi;
  return { data: encodeDeployData({ abi, args, bytecode: universalSignatureValidatorByteCode as `0x${string}` }) };
}

/** Null: the call failed in the chain, which a contract does for a bad signature, as does an address without one. */
function readResult(bytes: Uint8Array): string | null {
  let answer: unknown;
  try {
    answer = JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch (cause) {
    throw unavailable(cause);
  }
  if (typeof answer !== 'object' || answer === null) throw unavailable();
  if ('result' in answer && typeof answer.result === 'string') return answer.result.toLowerCase();
  if ('error' in answer) return null;
  throw unavailable();
}

/** The four bytes, and nothing in the rest of the word. */
const returnsMagic = (result: string | null): boolean => result === `${isValidSignature}${'0'.repeat(56)}`;

const isOne = (result: string | null): boolean => result !== null && /^0x0{0,63}1$/.test(result);

function unavailable(cause?: unknown): PlatformError {
  const message = 'The chain of this contract wallet could not be asked about its signature. Try again later.';
  return new PlatformError('SERVICE_UNAVAILABLE', message, null, { cause });
}
