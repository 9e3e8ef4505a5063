import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';

/** A stored response of an account. */
export interface ResponseStateKey {
  id: string;
  accountId: string;
}

/** Rows of stored responses. Another account's rows and expired ones count as absent. */
@Injectable()
export class ResponseStatesRepository {
  // SQL: rows expire by the database's clock.
  constructor(private readonly prisma: PrismaService) {}

  /** Has no effect on a row that exists. */
  async add({ id, accountId }: ResponseStateKey, ciphertext: Uint8Array<ArrayBuffer>, lifetimeMs: number) {
    await this.prisma.$executeRaw`
      INSERT INTO response_states (id, account_id, ciphertext, expires_at)
      VALUES (${id}, ${accountId}::uuid, ${ciphertext}, now() + ${lifetimeMs}::float8 * interval '1 ms')
      ON CONFLICT DO NOTHING`;
  }

  async find({ id, accountId }: ResponseStateKey): Promise<Uint8Array | null> {
    const [row] = await this.prisma.$queryRaw<{ ciphertext: Uint8Array }[]>`
      SELECT ciphertext FROM response_states
       WHERE id = ${id} AND account_id = ${accountId}::uuid AND expires_at > now()`;
    return row?.ciphertext ?? null;
  }

  /** Resolves to false if there was none. */
  async delete({ id, accountId }: ResponseStateKey): Promise<boolean> {
    const count = await this.prisma.$executeRaw`
      DELETE FROM response_states WHERE id = ${id} AND account_id = ${accountId}::uuid AND expires_at > now()`;
    return count === 1;
  }

  /** Sums the bytes of all responses of an account. */
  async bytesOf(accountId: string): Promise<number> {
    const [row] = await this.prisma.$queryRaw<{ bytes: bigint }[]>`
      SELECT coalesce(sum(octet_length(ciphertext)), 0)::bigint AS bytes
        FROM response_states WHERE account_id = ${accountId}::uuid`;
    return Number(row?.bytes ?? 0);
  }

  /** Deletes expired responses, oldest first; resolves to their number. */
  async deleteExpired(limit: number): Promise<number> {
    return this.prisma.$executeRaw`
      DELETE FROM response_states WHERE id IN
        (SELECT id FROM response_states WHERE expires_at <= now()
          ORDER BY expires_at LIMIT ${limit}::int FOR UPDATE SKIP LOCKED)`;
  }
}
