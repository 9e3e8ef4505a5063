import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';

/** Sign-ins as clients make them, with the signatures of viem and of the platform: not those of the code under test. */

export const solanaMainnet = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

/** A wallet of a client. */
export interface TestWallet {
  address: string;
  family: 'eip155' | 'solana';
  chainId: string;
  sign(text: string): Promise<string>;
}

export function evmWallet(privateKey = generatePrivateKey()): TestWallet {
  const account = privateKeyToAccount(privateKey);
  const signText = (message: string) => account.signMessage({ message });
  return { address: account.address, family: 'eip155', chainId: 'eip155:8453', sign: signText };
}

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Encodes bytes as base58, by division of one large number. */
export function base58(bytes: Uint8Array): string {
  let value = BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`);
  let text = '';
  for (; value > 0n; value /= 58n) text = `${alphabet[Number(value % 58n)]}${text}`;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros === -1 ? bytes.length : zeros) + text;
}

export function solanaWallet(encoding: 'base58' | 'base64' = 'base58'): TestWallet {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  const signText = (text: string) => {
    const signature = sign(null, Buffer.from(text), privateKey);
    return Promise.resolve(encoding === 'base58' ? base58(signature) : signature.toString('base64'));
  };
  return { address: base58(key), family: 'solana', chainId: solanaMainnet, sign: signText };
}

export interface SignInOptions {
  /** Of the service, such as `http://127.0.0.1:3000`. */
  origin: string;
  domain?: string;
  uri?: string;
  /** Null leaves it out. */
  statement?: string | null;
  nonce?: string;
  issuedAtMs?: number;
  /** Null leaves it out. */
  expirationMs?: number | null;
  /** As the message has it. */
  chainReference?: string;
  address?: string;
  /** Changes the text before it is signed. */
  edit?: (text: string) => string;
  /** Changes members of the JSON after it was signed. */
  members?: Record<string, unknown>;
}

/** The text that a wallet signs. */
export function signInText(wallet: TestWallet, options: SignInOptions): string {
  const { origin, nonce = randomBytes(8).toString('hex'), issuedAtMs = Date.now() } = options;
  const { expirationMs = issuedAtMs + 300_000, statement = 'Sign in to the API' } = options;
  const kind = wallet.family === 'eip155' ? 'Ethereum' : 'Solana';
  const text = [
    `${options.domain ?? new URL(origin).host} wants you to sign in with your ${kind} account:`,
    options.address ?? wallet.address,
    ...(statement === null ? [''] : ['', statement, '']),
    `URI: ${options.uri ?? `${origin}/api/v1/chat/completions`}`,
    'Version: 1',
    `Chain ID: ${options.chainReference ?? wallet.chainId.split(':')[1]}`,
    `Nonce: ${nonce}`,
    `Issued At: ${new Date(issuedAtMs).toISOString()}`,
    ...(expirationMs === null ? [] : [`Expiration Time: ${new Date(expirationMs).toISOString()}`]),
  ].join('\n');
  return options.edit?.(text) ?? text;
}

export const encodeSignIn = (members: object): string => Buffer.from(JSON.stringify(members)).toString('base64');

/** The members of the packed form: the signed text itself. */
export async function signInMembers(wallet: TestWallet, options: SignInOptions): Promise<Record<string, unknown>> {
  const message = signInText(wallet, options);
  const signature = await wallet.sign(message);
  const chainId = wallet.family === 'eip155' ? 8453 : wallet.chainId;
  const kind = wallet.family === 'eip155' ? {} : { type: 'ed25519' };
  return { address: wallet.address, message, signature, timestamp: Date.now(), chainId, ...kind, ...options.members };
}

/** The header of a sign-in. */
export async function signInHeader(wallet: TestWallet, options: SignInOptions): Promise<string> {
  return encodeSignIn(await signInMembers(wallet, options));
}
