import { refusedSignIn } from './refused-sign-in.js';
import type { ChainFamily } from './wallet-address.js';

/** What a wallet signs: EIP-4361, and the same layout for Solana (CAIP-122). Every member is text of the client. */
export interface SignInMessage {
  /** The scheme in front of the domain, such as `https`; most clients leave it out. */
  scheme: string | null;
  domain: string;
  family: ChainFamily;
  address: string;
  statement: string | null;
  uri: string;
  /** The chain without its namespace: `8453`. */
  chainReference: string;
  nonce: string;
  issuedAtMs: number;
  expirationMs: number | null;
  notBeforeMs: number | null;
}

const openings: Readonly<Record<ChainFamily, string>> = {
  eip155: ' wants you to sign in with your Ethereum account:',
  solana: ' wants you to sign in with your Solana account:',
};

/** Lines of a text, taken in order. */
class Lines {
  private readonly lines: string[];
  private position = 0;

  constructor(text: string) {
    this.lines = text.split('\n');
  }

  get next(): string | undefined {
    return this.lines[this.position];
  }

  get isAtEnd(): boolean {
    return this.position >= this.lines.length;
  }

  after(count: number): string | undefined {
    return this.lines[this.position + count];
  }

  take(): string {
    const line = this.next;
    if (line === undefined) throw refusedSignIn('The signed message ends too early.');
    this.position += 1;
    return line;
  }

  /** Takes the rest of a line that begins with `name: `. */
  field(name: string): string {
    const value = this.optionalField(name);
    if (value === null) throw refusedSignIn(`The signed message needs the line "${name}: …" here.`);
    return value;
  }

  optionalField(name: string): string | null {
    const start = `${name}: `;
    return this.next?.startsWith(start) === true ? this.take().slice(start.length) : null;
  }

  blank(): void {
    if (this.take() !== '')
      throw refusedSignIn('The signed message needs an empty line before and after its statement.');
  }
}

/** Parses a signed message, one pass over its lines. Rejects with `X402_INVALID_SIGN_IN`, naming the line. */
export function parseSignInMessage(text: string): SignInMessage {
  // A wallet may show them as line breaks, and another message than the one that is read.
  if (/[^\P{Cc}\n]/u.test(text)) throw refusedSignIn('The signed message contains control characters.');
  const lines = new Lines(text);
  const opening = readOpening(lines.take());
  const address = lines.take();
  const statement = readStatement(lines);
  const uri = lines.field('URI');
  if (lines.field('Version') !== '1') throw refusedSignIn('The version of the signed message must be 1.');
  const chainReference = lines.field('Chain ID');
  const nonce = lines.field('Nonce');
  const issuedAtMs = momentOf('Issued At', lines.field('Issued At'));
  const expirationMs = optionalMoment(lines, 'Expiration Time');
  const notBeforeMs = optionalMoment(lines, 'Not Before');
  lines.optionalField('Request ID');
  skipResources(lines);
  if (!lines.isAtEnd) throw refusedSignIn('The signed message has a line that does not belong there.');
  return { ...opening, address, statement, uri, chainReference, nonce, issuedAtMs, expirationMs, notBeforeMs };
}

function readOpening(line: string): Pick<SignInMessage, 'scheme' | 'domain' | 'family'> {
  const family = (Object.keys(openings) as ChainFamily[]).find((name) => line.endsWith(openings[name]));
  if (family === undefined) {
    const message = 'The first line of the signed message must be "<domain> wants you to sign in with your';
    throw refusedSignIn(`${message} Ethereum account:", or "Solana account:".`);
  }
  const place = line.slice(0, -openings[family].length);
  const at = place.indexOf('://');
  return { family, scheme: at === -1 ? null : place.slice(0, at), domain: at === -1 ? place : place.slice(at + 3) };
}

/** Without a statement, some writers leave one empty line and others two. */
function readStatement(lines: Lines): string | null {
  lines.blank();
  if (lines.next?.startsWith('URI: ') === true) return null;
  if (lines.next === '' && lines.after(1)?.startsWith('URI: ') === true) {
    lines.blank();
    return null;
  }
  const statement = lines.take();
  lines.blank();
  return statement;
}

function skipResources(lines: Lines): void {
  if (lines.next !== 'Resources:') return;
  lines.take();
  while (lines.next?.startsWith('- ')) lines.take();
}

function optionalMoment(lines: Lines, name: string): number | null {
  const value = lines.optionalField(name);
  return value === null ? null : momentOf(name, value);
}

const moment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

function momentOf(name: string, value: string): number {
  const ms = value.length <= 40 && moment.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(ms))
    throw refusedSignIn(`"${name}" of the signed message must be a time such as 2026-01-31T12:00:00Z.`);
  return ms;
}

/** The fields of a message as the generic clients send them, without the text that was signed. */
export interface SignInFields {
  domain: string;
  address: string;
  statement: string | null;
  uri: string;
  version: string;
  chainReference: string;
  nonce: string;
  issuedAt: string;
  expirationTime: string | null;
  notBefore: string | null;
  requestId: string | null;
  resources: readonly string[];
}

/**
 * Writes the texts that a wallet may have signed for these fields: two without a statement, since writers differ in the
 * number of empty lines there.
 */
export function writeSignInMessages(family: ChainFamily, fields: SignInFields): string[] {
  const { domain, address, statement, uri, version, chainReference, nonce, issuedAt, resources } = fields;
  const head = [`${domain}${openings[family]}`, address];
  const tail = [
    ...[
      `URI: ${uri}`,
      `Version: ${version}`,
      `Chain ID: ${chainReference}`,
      `Nonce: ${nonce}`,
      `Issued At: ${issuedAt}`,
    ],
    ...(fields.expirationTime === null ? [] : [`Expiration Time: ${fields.expirationTime}`]),
    ...(fields.notBefore === null ? [] : [`Not Before: ${fields.notBefore}`]),
    ...(fields.requestId === null ? [] : [`Request ID: ${fields.requestId}`]),
    ...(resources.length === 0 ? [] : ['Resources:', ...resources.map((resource) => `- ${resource}`)]),
  ];
  const middles = statement === null || statement === '' ? [[''], ['', '']] : [['', statement, '']];
  return middles.map((middle) => [...head, ...middle, ...tail].join('\n'));
}
