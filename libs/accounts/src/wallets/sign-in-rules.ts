import { refusedSignIn } from './refused-sign-in.js';
import type { PresentedSignIn } from './presented-sign-in.js';
import type { SignInMessage } from './sign-in-message.js';

/** How old a sign-in may be, in ms. */
export const signInMs = 5 * 60_000;
/** How far the clock of a client may be ahead, in ms. */
export const clockAheadMs = 30_000;

/** Who may be signed in to. */
export interface SignInPlace {
  /** Public origins of this service, such as `https://api.example.org`. Never what a request says of itself. */
  origins: readonly string[];
  /** CAIP-2 ids. */
  chains: readonly string[];
}

const listed = (items: readonly string[]): string => items.join(', ');

/**
 * Checks what a message says against this service and its clock. Returns until when it is good, in ms since the epoch.
 * Rejects with `X402_INVALID_SIGN_IN`, naming the field and what was expected.
 */
export function checkSignIn(message: SignInMessage, sent: PresentedSignIn, place: SignInPlace, nowMs: number): number {
  checkPlace(message, place.origins);
  checkChain(message, sent, place.chains);
  const { family, stored } = sent.address;
  if ((family === 'eip155' ? message.address.toLowerCase() : message.address) !== stored) {
    throw refusedSignIn('The signed message names another address than the header.');
  }
  if (!/^[\w-]{8,64}$/.test(message.nonce)) {
    throw refusedSignIn('The nonce must have 8 to 64 letters, digits, - or _.');
  }
  return checkTimes(message, nowMs);
}

/** The domain has its port, and the origin of `URI` is the same one; its path and query are free. */
function checkPlace({ scheme, domain, uri }: SignInMessage, origins: readonly string[]): void {
  const known = origins.map((origin) => new URL(origin));
  const hosts = known.filter(({ host }) => host === domain);
  if (hosts.length === 0) {
    throw refusedSignIn(`The domain of the signed message must be ${listed(known.map(({ host }) => host))}.`);
  }
  const places = scheme === null ? hosts : hosts.filter(({ protocol }) => protocol === `${scheme}:`);
  if (places.length === 0) throw refusedSignIn('The scheme before the domain of the signed message is not ours.');
  if (uri !== domain && !places.some(({ origin }) => origin === originOf(uri))) {
    const expected = listed(places.map(({ origin }) => origin));
    throw refusedSignIn(`The URI of the signed message must be one below ${expected}.`);
  }
}

/** Null for what is no plain address of the web. */
function originOf(uri: string): string | null {
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(uri) || uri.includes('\\')) return null;
  try {
    const { origin, username, password } = new URL(uri);
    return username === '' && password === '' ? origin : null;
  } catch {
    return null;
  }
}

function checkChain(message: SignInMessage, sent: PresentedSignIn, chains: readonly string[]): void {
  const { family } = sent.address;
  if (message.family !== family) throw refusedSignIn('The signed message is for the other kind of account.');
  const { chainReference } = message;
  const signed = chainReference.startsWith(`${family}:`) ? chainReference : `${family}:${chainReference}`;
  if (signed !== sent.chainId) {
    throw refusedSignIn('The signed message names another chain than chainId.');
  }
  if (!chains.includes(signed)) throw refusedSignIn(`The chain must be one of ${listed(chains)}.`);
}

function checkTimes({ issuedAtMs, expirationMs, notBeforeMs }: SignInMessage, nowMs: number): number {
  const ageMs = nowMs - issuedAtMs;
  if (ageMs > signInMs) {
    throw refusedSignIn(
      `"Issued At" is ${secondsOf(ageMs)} s old by the clock here; 300 s are allowed. ${clockAdvice(nowMs)}`,
    );
  }
  if (-ageMs > clockAheadMs) {
    throw refusedSignIn(`"Issued At" is ${secondsOf(-ageMs)} s in the future by the clock here. ${clockAdvice(nowMs)}`);
  }
  if (expirationMs !== null && expirationMs <= nowMs) {
    throw refusedSignIn(`The sign-in ended ${secondsOf(nowMs - expirationMs)} s ago. ${clockAdvice(nowMs)}`);
  }
  if (notBeforeMs !== null && notBeforeMs > nowMs) {
    throw refusedSignIn(`The sign-in begins in ${secondsOf(notBeforeMs - nowMs)} s. ${clockAdvice(nowMs)}`);
  }
  return Math.min(issuedAtMs + signInMs, expirationMs ?? Infinity);
}

const secondsOf = (ms: number): number => Math.ceil(ms / 1000);

function clockAdvice(nowMs: number): string {
  return `Here it is ${new Date(nowMs).toISOString()}; sign a new message, with a clock that is right.`;
}
