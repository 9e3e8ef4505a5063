import { type Clock, deriveKey, PlatformError, systemClock } from '#common';
import { DatabaseConfig } from '#platform/config';
import type { Hex } from 'viem';
import { Inject, Injectable, Optional } from '#platform/injection';
import type { ApiKeyKind, KeySettings } from '../api-key.js';
import { ApiKeysService, type CreatedKey } from '../keys/api-keys.service.js';
import { type ReadStake, StakesService } from './stakes.service.js';
import { WalletsRepository } from './wallets.repository.js';
import { issueWeb3Token, readWeb3Token, type Web3Token } from './web3-token.js';

export interface Web3KeyRequest {
  address: string;
  /** Of the raw token, made with `personal_sign`. */
  signature: string;
  token: string;
  kind: ApiKeyKind;
  settings: KeySettings;
}

/** Creates keys for owners of a wallet with a stake: issues a token to sign, and a key for its signature. */
@Injectable()
export class Web3KeysService {
  /** The first one signs, all check. */
  private readonly tokenKeys: readonly [Buffer, ...Buffer[]];

  constructor(
    private readonly wallets: WalletsRepository,
    private readonly keys: ApiKeysService,
    private readonly stakes: StakesService,
    /** Replicas check each other's tokens, so the keys are the same on all of them. */
    @Inject(DatabaseConfig) { secretKeys: [newest, ...older] }: Pick<DatabaseConfig, 'secretKeys'>,
    @Optional() private readonly clock: Clock = systemClock,
  ) {
    const keyOf = (secretKey: string) => deriveKey(secretKey, 'web3 tokens');
    this.tokenKeys = [keyOf(newest), ...older.map(keyOf)];
  }

  token(): string {
    return issueWeb3Token(this.tokenKeys[0], this.clock.nowMs());
  }

  /**
   * Creates a key in the wallet's account, which the first key creates. Rejects with `INVALID_REQUEST` naming the
   * invalid one of address, token, signature and stake, and as `ApiKeysService.create` does. A token creates one key,
   * so a captured request cannot be replayed.
   */
  async create({ address, signature, token, kind, settings }: Web3KeyRequest): Promise<CreatedKey> {
    const { isAddress } = await import('viem');
    if (!isAddress(address)) throw refuse('address', 'The address is not an Ethereum address.');
    const fresh = readWeb3Token(this.tokenKeys, token, this.clock.nowMs());
    if (!(await isSignedBy(address, token, signature))) {
      throw refuse('signature', 'The signature is not that of this address for this token.');
    }
    const wallet = address.toLowerCase();
    const stake = await this.stakes.require(wallet);
    const created = await this.createIn({ wallet, fresh, stake, kind, settings });
    // The key exists; ops applies a stake that could not be applied now.
    if (stake !== null) await this.stakes.applyTo(created.record.accountId).catch(() => undefined);
    return created;
  }

  private async createIn({ wallet, fresh, stake, kind, settings }: CheckedRequest): Promise<CreatedKey> {
    return await this.wallets.transaction(async (transaction) => {
      if (!(await this.wallets.spend(transaction, fresh))) {
        throw refuse('token', 'The token has been used; get a new one.');
      }
      const accountId = await this.wallets.accountOf(transaction, wallet);
      await this.stakes.record(transaction, wallet, stake);
      return this.keys.createIn(transaction, accountId, kind, settings);
    });
  }
}

interface CheckedRequest {
  wallet: string;
  fresh: Web3Token;
  stake: ReadStake;
  kind: ApiKeyKind;
  settings: KeySettings;
}

/** Also false for malformed signatures. */
async function isSignedBy(address: Hex, message: string, signature: string): Promise<boolean> {
  if (!/^0x[0-9a-f]{130}$/i.test(signature)) return false;
  const { verifyMessage } = await import('viem');
  try {
    return await verifyMessage({ address, message, signature: signature as Hex });
  } catch {
    // viem throws on numbers outside the curve instead of returning false.
    return false;
  }
}

function refuse(param: string, message: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', message, param, {
    issues: [{ code: 'custom', path: [param], message }],
  });
}
