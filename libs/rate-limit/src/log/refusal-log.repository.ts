import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';
import { keptRefusals, type LoggedRefusal, type RefusalType } from './logged-refusal.js';

/** A line as it is read back. */
export interface StoredRefusal {
  apiKeyId: string;
  modelId: string;
  tier: string;
  type: RefusalType;
  createdAt: Date;
}

/** The table behind the log. */
@Injectable()
export class RefusalLogRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Adds lines and deletes those beyond the last 50 of their accounts. */
  async add(refusals: LoggedRefusal[]): Promise<void> {
    await this.prisma.rateLimitLog.createMany({
      data: refusals.map(({ atMs, ...line }) => ({ ...line, createdAt: new Date(atMs) })),
    });
    const accounts = [...new Set(refusals.map(({ accountId }) => accountId))];
    // SQL: Prisma has no window functions.
    await this.prisma.$executeRaw`
      DELETE FROM rate_limit_log WHERE id IN (
        SELECT id FROM (
          SELECT id, row_number() OVER (PARTITION BY account_id ORDER BY created_at DESC, id DESC) AS place
            FROM rate_limit_log WHERE account_id = ANY (${accounts}::uuid[])
        ) ranked WHERE place > ${keptRefusals}::int)`;
  }

  /** Returns the last lines of an account, newest first. */
  async last(accountId: string): Promise<StoredRefusal[]> {
    const rows = await this.prisma.rateLimitLog.findMany({
      where: { accountId },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      take: keptRefusals,
      select: { apiKeyId: true, modelId: true, tier: true, type: true, createdAt: true },
    });
    return rows.map((row) => ({ ...row, type: row.type as RefusalType }));
  }
}
