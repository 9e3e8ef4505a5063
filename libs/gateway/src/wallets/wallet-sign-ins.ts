import type { FastifyRequest } from 'fastify';
import { signInHeader, type WalletCaller, type WalletCallers } from '#accounts';
import { PlatformError } from '#common';
import { callerAddress } from '../request/caller-address.js';
import { legacySignInHeader } from './payment-answers.js';

/** Tells callers what the operator has to do. */
export const walletsAreOff =
  'Wallets are off here. The operator switches them on with SLUICE_PAYMENT_EVM_ADDRESS or SLUICE_PAYMENT_SOLANA_ADDRESS.';

const headerNames = [signInHeader, legacySignInHeader];

/** Returns true when a request brings a sign-in, valid or not. */
export function hasSignIn({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headerNames.some((name) => headers[name.toLowerCase()] !== undefined);
}

/** Returns the sign-in of a request, or null without one. Both names are accepted; two different values are not. */
export function signInOf({ headers }: Pick<FastifyRequest, 'headers'>): string | null {
  const sent = headerNames.flatMap((name) => headers[name.toLowerCase()] ?? []);
  const [first, ...others] = sent;
  if (first === undefined) return null;
  if (others.every((other) => other === first)) return first;
  const message = `${headerNames.join(' and ')} hold different sign-ins; send one.`;
  throw new PlatformError('X402_INVALID_SIGN_IN', message, signInHeader);
}

/** Signs in the callers of routes that take wallets. */
export class WalletSignIns {
  /** `callers` is null while the operator accepts no payments. */
  constructor(private readonly callers: WalletCallers | null) {}

  get areOn(): boolean {
    return this.callers !== null;
  }

  /** Rejects as `WalletCallers.authenticate` does, and with `AUTHENTICATION_FAILED` while wallets are off. */
  async authenticate(signIn: string, { ip }: Pick<FastifyRequest, 'ip'>): Promise<WalletCaller> {
    if (this.callers === null) throw new PlatformError('AUTHENTICATION_FAILED', `${walletsAreOff} Send an API key.`);
    return await this.callers.authenticate(signIn, callerAddress(ip));
  }
}
