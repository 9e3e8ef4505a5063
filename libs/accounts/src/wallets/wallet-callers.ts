import { createHash } from 'node:crypto';
import { type Clock, PlatformError, systemClock } from '#common';
import type { AccountsRepository, KeyLookup } from '../accounts.repository.js';
import type { Caller } from '../accounts.service.js';
import { KeyCache } from '../key-cache.js';
import { refusedSignIn } from './refused-sign-in.js';
import type { SignInVerifier, VerifiedSignIn } from './sign-in-verifier.js';
import type { WalletKeysRepository } from './wallet-keys.repository.js';
import type { WalletNoncesRepository } from './wallet-nonces.repository.js';

/** A caller who signed in with a wallet. */
export interface WalletCaller extends Caller {
  /** As wallets are stored. */
  wallet: string;
}

export interface WalletCallersDependencies {
  accounts: AccountsRepository;
  keys: WalletKeysRepository;
  nonces: WalletNoncesRepository;
  verifier: Pick<SignInVerifier, 'verify'>;
}

interface Session {
  signIn: Promise<VerifiedSignIn>;
  /** On the monotonic clock; unknown until the sign-in is verified. */
  untilMs: number;
}

/** Sessions kept per process; a lost one is verified again. */
const mostSessions = 10_000;

/**
 * Signs wallets in. A sign-in may be sent again, byte for byte and from the same address, until it ends: some clients
 * sign once and send many requests. Another message with its nonce is refused, by whichever replica.
 */
export class WalletCallers {
  private readonly callers: KeyCache;
  private readonly sessions = new Map<string, Session>();

  constructor(
    private readonly dependencies: WalletCallersDependencies,
    private readonly clock: Clock = systemClock,
  ) {
    const { accounts } = dependencies;
    const read = async (address: Uint8Array): Promise<KeyLookup | null> => {
      const key = await accounts.findWalletKey(Buffer.from(address).toString());
      // Not awaited; the next read, 5 s later, makes up for a lost write.
      if (key?.active === true) void accounts.touchKey(key.id).catch(() => undefined);
      return key;
    };
    this.callers = new KeyCache((addresses) => Promise.all(addresses.map(read)), clock);
  }

  /**
   * Returns the caller behind the header of a sign-in, whose account and key are created at first use. `source` is the
   * network address that limits count the client by. Rejects with `X402_INVALID_SIGN_IN`, with `UNAUTHORIZED` for a
   * wallet whose account is suspended or closed, and as the verifier does.
   */
  async authenticate(header: string, source: string): Promise<WalletCaller> {
    const { wallet } = await this.session(header, source);
    const address = new Uint8Array(Buffer.from(wallet));
    let key = await this.callers.find(address);
    if (key === null) {
      await this.dependencies.keys.ensureKey(wallet);
      key = await this.callers.find(address);
    }
    if (key?.accountState !== 'active' || !key.active) {
      throw new PlatformError('UNAUTHORIZED', 'The account of this wallet is not active. Ask the operator.');
    }
    const { accountId, id, kind, tier, modelPrivacy, betaAccess } = key;
    return { accountId, apiKeyId: id, kind, tier, modelPrivacy, betaAccess, wallet };
  }

  private async session(header: string, source: string): Promise<VerifiedSignIn> {
    // Two lengths of text cannot be taken for one another: a header has no space.
    const digest = new Uint8Array(createHash('sha256').update(`${header} ${source}`).digest());
    const id = Buffer.from(digest).toString('base64');
    const known = this.sessions.get(id);
    if (known !== undefined && known.untilMs > this.clock.monotonicMs()) return await known.signIn;
    const session: Session = { signIn: this.signIn(header, digest), untilMs: Infinity };
    this.remember(id, session);
    try {
      const signIn = await session.signIn;
      session.untilMs = this.clock.monotonicMs() + signIn.untilMs - this.clock.nowMs();
      return signIn;
    } catch (error) {
      if (this.sessions.get(id) === session) this.sessions.delete(id);
      throw error;
    }
  }

  private async signIn(header: string, digest: Uint8Array<ArrayBuffer>): Promise<VerifiedSignIn> {
    const signIn = await this.dependencies.verifier.verify(header, this.clock.nowMs());
    const { wallet, nonce, issuedAtMs } = signIn;
    const aheadMs = Math.max(0, issuedAtMs - this.clock.nowMs());
    if (await this.dependencies.nonces.use({ wallet, nonce, digest, aheadMs })) return signIn;
    throw refusedSignIn('This wallet has used the nonce before; sign a new message with a new nonce.');
  }

  private remember(id: string, session: Session): void {
    this.sessions.delete(id);
    this.sessions.set(id, session);
    // A map iterates in insertion order: the first key is the oldest session.
    const oldest = this.sessions.size > mostSessions ? this.sessions.keys().next().value : undefined;
    if (oldest !== undefined) this.sessions.delete(oldest);
  }
}
