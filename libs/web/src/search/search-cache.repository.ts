import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';

/** Rows of search results, by a key that does not show the query. */
@Injectable()
export class SearchCacheRepository {
  // SQL: rows expire by the database's clock, and one statement keeps the table within its bound.
  constructor(private readonly prisma: PrismaService) {}

  async find(id: string): Promise<Uint8Array | null> {
    const [row] = await this.prisma.$queryRaw<{ ciphertext: Uint8Array }[]>`
      SELECT ciphertext FROM search_results WHERE id = ${id} AND expires_at > now()`;
    return row?.ciphertext ?? null;
  }

  async add(id: string, ciphertext: Uint8Array<ArrayBuffer>, lifetimeMs: number): Promise<void> {
    await this.prisma.$executeRaw`
      INSERT INTO search_results (id, ciphertext, expires_at)
      VALUES (${id}, ${ciphertext}, now() + ${lifetimeMs}::float8 * interval '1 ms')
      ON CONFLICT (id) DO UPDATE SET ciphertext = EXCLUDED.ciphertext, expires_at = EXCLUDED.expires_at`;
  }

  /** Deletes expired rows, and the oldest of those beyond `maxRows`; at most 1,000 at a time. */
  async trim(maxRows: number): Promise<number> {
    return await this.prisma.$executeRaw`
      DELETE FROM search_results WHERE id IN (
        (SELECT id FROM search_results WHERE expires_at <= now() ORDER BY expires_at LIMIT 500)
        UNION
        (SELECT id FROM search_results ORDER BY expires_at DESC OFFSET ${maxRows}::int LIMIT 500))`;
  }
}
