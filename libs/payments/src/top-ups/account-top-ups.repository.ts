import { Injectable } from '#platform/injection';
import { boundedRead, PrismaService } from '#platform/prisma';
import type { TopUp } from './top-up.js';
import { topUpColumns } from './top-ups.repository.js';

/** How long the database may look, in ms. */
const timeoutMs = 2_000;

/** Top-ups as their account sees them. */
@Injectable()
export class AccountTopUpsRepository {
  // SQL: the columns of a top-up are listed once.
  constructor(private readonly prisma: PrismaService) {}

  /** Returns the latest, newest first. Rejects with `REQUEST_TIMEOUT` when the database takes too long. */
  async latest(accountId: string, limit: number): Promise<TopUp[]> {
    return boundedRead(
      this.prisma,
      { owner: accountId, timeoutMs },
      (transaction) => transaction.$queryRaw<TopUp[]>`
        SELECT ${topUpColumns} FROM top_ups WHERE account_id = ${accountId}::uuid
         ORDER BY created_at DESC, id LIMIT ${limit}`,
    );
  }
}
