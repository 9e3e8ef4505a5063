import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';

/** How long a nonce stays used after its message was issued, in ms: longer than any replica accepts the message. */
const nonceMs = 330_000;
/** Removed with each new one, so that the table holds what is in use and a little more. */
const removedAtOnce = 100;

export interface UsedNonce {
  /** As wallets are stored. */
  wallet: string;
  nonce: string;
  /** What the nonce was used for; only that may come again. */
  digest: Uint8Array<ArrayBuffer>;
  /** How far the message was issued ahead of the clock here, in ms; 0 for one of the past. */
  aheadMs: number;
}

/** Nonces of sign-ins, used once per wallet whichever replica is asked. */
@Injectable()
export class WalletNoncesRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns false when the wallet has used the nonce for something else. */
  async use({ wallet, nonce, digest, aheadMs }: UsedNonce): Promise<boolean> {
    const keptSeconds = (nonceMs + aheadMs) / 1000;
    // SQL: one statement decides between replicas, and the database's clock says what has expired.
    const written = await this.prisma.$queryRaw<unknown[]>`
      WITH expired AS (
        DELETE FROM wallet_nonces WHERE (wallet, nonce) IN (
          SELECT wallet, nonce FROM wallet_nonces
           WHERE expires_at < now() AND (wallet, nonce) <> (${wallet}::text, ${nonce}::text)
           LIMIT ${removedAtOnce}::int FOR UPDATE SKIP LOCKED))
      INSERT INTO wallet_nonces AS used (wallet, nonce, digest, expires_at)
      VALUES (${wallet}, ${nonce}, ${digest}, now() + make_interval(secs => ${keptSeconds}::float8))
      ON CONFLICT (wallet, nonce) DO UPDATE SET digest = excluded.digest, expires_at = excluded.expires_at
        WHERE used.expires_at < now()
      RETURNING 1`;
    if (written.length > 0) return true;
    const used = await this.prisma.walletNonce.findUnique({ where: { wallet_nonce: { wallet, nonce } } });
    return used !== null && Buffer.from(used.digest).equals(Buffer.from(digest));
  }
}
