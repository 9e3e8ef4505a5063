import { randomBytes } from 'node:crypto';
import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';
import { defaultKeySettings } from '../api-key.js';
import { WalletsRepository } from '../web3/wallets.repository.js';

/**
 * The key of a wallet: the row that its jobs, limits and spend are counted by, as those of other callers are. No list
 * shows it, and no bearer token matches it, because its hash is that of nothing.
 */
@Injectable()
export class WalletKeysRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly wallets: WalletsRepository,
  ) {}

  /** Makes sure that a wallet has an account and a key. */
  async ensureKey(address: string): Promise<void> {
    await this.wallets.transaction(async (transaction) => {
      // Locks the wallet until the transaction ends.
      const accountId = await this.wallets.accountOf(transaction, address);
      const { apiKeyId } = await transaction.wallet.findUniqueOrThrow({ where: { address } });
      if (apiKeyId !== null) return;
      const settings = { ...defaultKeySettings, description: `wallet ${address}` };
      const identity = { accountId, kind: 'INFERENCE' as const, keyHash: new Uint8Array(randomBytes(32)) };
      const key = { ...settings, ...identity, last6: address.slice(-6) };
      const { id } = await transaction.apiKey.create({ data: key, select: { id: true } });
      await transaction.wallet.update({ where: { address }, data: { apiKeyId: id } });
    });
  }

  /** Returns null for a wallet that was never seen. */
  async accountOf(address: string): Promise<string | null> {
    const wallet = await this.prisma.wallet.findUnique({ where: { address }, select: { accountId: true } });
    return wallet?.accountId ?? null;
  }
}
