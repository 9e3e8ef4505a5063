import { refusedSignIn, signInHeader } from './refused-sign-in.js';
import { writeSignInMessages } from './sign-in-message.js';
import { type ChainFamily, readWalletAddress, type WalletAddress } from './wallet-address.js';

/** How a signature was made: by a key, or judged by a contract that exists or is yet to be deployed. */
export type SignatureKind = 'eip191' | 'eip1271' | 'eip6492' | 'ed25519';

/** A sign-in as a client sent it: well formed, and nothing more. */
export interface PresentedSignIn {
  address: WalletAddress;
  /** As it was sent, with its case. */
  writtenAddress: string;
  /** CAIP-2. */
  chainId: string;
  /** The texts that may have been signed; one where the client sent it. */
  texts: readonly string[];
  signature: string;
  kind: SignatureKind;
}

/** Contract wallets have long signatures; a request has 16 KB of headers in all. */
const longestHeader = 12_288;
const longestText = 4_096;
const longestSignature = 8_192;
const mostResources = 20;

const kinds: Readonly<Record<string, SignatureKind>> = {
  eip191: 'eip191',
  eip1271: 'eip1271',
  eip6492: 'eip6492',
  ed25519: 'ed25519',
  siws: 'ed25519',
};

/**
 * Reads the header of a sign-in: base64 of JSON, with the signed text (`message`) or with its fields. Rejects with
 * `X402_INVALID_SIGN_IN`, naming what is wrong.
 */
export function readPresentedSignIn(header: string): PresentedSignIn {
  const fields = new Fields(decode(header));
  const writtenAddress = fields.text('address', 44);
  const address = readWalletAddress(writtenAddress);
  if (address === null) throw refusedSignIn('address must be 0x and 40 hex digits, or the base58 of a Solana account.');
  const { family } = address;
  const chainId = readChain(family, fields.value('chainId'));
  const message = fields.optionalText('message', longestText);
  fields.checkTimestamp();
  return {
    address,
    writtenAddress,
    chainId,
    texts: message === null ? textsOf(fields, { family, writtenAddress, chainId }) : [message],
    signature: fields.text('signature', longestSignature),
    kind: readKind(family, fields),
  };
}

function decode(header: string): Record<string, unknown> {
  if (header.length > longestHeader) throw refusedSignIn(`${signInHeader} is longer than ${longestHeader} characters.`);
  if (!/^[\w+/-]+={0,2}$/.test(header)) throw refusedSignIn(`${signInHeader} must be base64 of a JSON object.`);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'base64'));
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Falls through: bytes that are no text, no JSON and no object are the same to the client.
  }
  throw refusedSignIn(`${signInHeader} must be base64 of a JSON object.`);
}

/** The members of the object, each read once by its type. Null counts as absent: some clients write it. */
class Fields {
  constructor(private readonly members: Record<string, unknown>) {}

  value(name: string): unknown {
    return Object.hasOwn(this.members, name) ? this.members[name] : undefined;
  }

  optionalText(name: string, maxLength: number): string | null {
    const value = this.value(name) ?? null;
    if (value === null) return null;
    if (typeof value !== 'string') throw refusedSignIn(`${name} must be a string.`);
    if (value.length > maxLength) throw refusedSignIn(`${name} is longer than ${maxLength} characters.`);
    return value;
  }

  text(name: string, maxLength: number): string {
    const value = this.optionalText(name, maxLength);
    if (value === null || value === '') throw refusedSignIn(`${name} is missing.`);
    return value;
  }

  /** A part of a line of the signed text. */
  line(name: string): string {
    return oneLine(name, this.text(name, longestText));
  }

  optionalLine(name: string): string | null {
    const value = this.optionalText(name, longestText);
    return value === null ? null : oneLine(name, value);
  }

  lines(name: string): string[] {
    const value = this.value(name) ?? [];
    if (!Array.isArray(value) || value.length > mostResources) {
      throw refusedSignIn(`${name} must be a list of at most ${mostResources} strings.`);
    }
    return value.map((item: unknown) => {
      if (typeof item !== 'string') throw refusedSignIn(`${name} must be a list of strings.`);
      return oneLine(name, item);
    });
  }

  /** Nobody signs it, so only its type is checked: `Issued At` of the signed text is what counts. */
  checkTimestamp(): void {
    const value = this.value('timestamp') ?? 0;
    if (typeof value !== 'number') throw refusedSignIn('timestamp must be a number, in ms.');
  }
}

/** A line break in a field would be another line of the signed text. */
function oneLine(name: string, value: string): string {
  if (value.includes('\n')) throw refusedSignIn(`${name} must be one line.`);
  return value;
}

/** `8453`, `"8453"` and `"eip155:8453"` are one chain; the name of one on Solana is its CAIP-2 id. */
function readChain(family: ChainFamily, value: unknown): string {
  if (family === 'eip155') {
    const digits = typeof value === 'number' ? String(value) : typeof value === 'string' ? value : '';
    const reference = digits.startsWith('eip155:') ? digits.slice('eip155:'.length) : digits;
    if (/^[1-9]\d{0,15}$/.test(reference)) return `eip155:${reference}`;
    throw refusedSignIn('chainId must be the number of a chain such as 8453, or "eip155:8453".');
  }
  if (typeof value === 'string' && /^solana:[1-9A-HJ-NP-Za-km-z]{32}$/.test(value)) return value;
  throw refusedSignIn('chainId of a Solana account must be "solana:" and the 32 characters of the chain.');
}

function readKind(family: ChainFamily, fields: Fields): SignatureKind {
  const plain = family === 'eip155' ? 'eip191' : 'ed25519';
  let kind: SignatureKind = plain;
  // The second is the more specific one: generic clients send "eip191" as the type of every EVM wallet.
  for (const name of ['type', 'signatureScheme']) {
    const scheme = fields.optionalText(name, 32);
    if (scheme === null) continue;
    const known = Object.hasOwn(kinds, scheme) ? kinds[scheme] : undefined;
    if (known === undefined || (known === 'ed25519') !== (plain === 'ed25519')) {
      const expected = plain === 'ed25519' ? '"ed25519"' : '"eip191", "eip1271" or "eip6492"';
      throw refusedSignIn(`${name} must be ${expected} for this address.`);
    }
    kind = known;
  }
  return kind;
}

function textsOf(
  fields: Fields,
  { family, writtenAddress: address, chainId }: { family: ChainFamily; writtenAddress: string; chainId: string },
): string[] {
  return writeSignInMessages(family, {
    domain: fields.line('domain'),
    address,
    statement: fields.optionalLine('statement'),
    uri: fields.line('uri'),
    version: fields.line('version'),
    chainReference: chainId.slice(chainId.indexOf(':') + 1),
    nonce: fields.line('nonce'),
    issuedAt: fields.line('issuedAt'),
    expirationTime: fields.optionalLine('expirationTime'),
    notBefore: fields.optionalLine('notBefore'),
    requestId: fields.optionalLine('requestId'),
    resources: fields.lines('resources'),
  });
}
