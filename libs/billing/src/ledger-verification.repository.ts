import { Injectable } from '#platform/injection';
import { PrismaService } from '#platform/prisma';

/** A verification of the whole ledger that was recorded. */
export interface RecordedVerification {
  verifiedAt: Date;
  tookMs: number;
  /** Each way in which the ledger can be broken, as a count that must be zero. */
  breaks: Record<string, number>;
}

/** The latest verification of the ledger. */
@Injectable()
export class LedgerVerificationRepository {
  constructor(private readonly prisma: PrismaService) {}

  async record({ tookMs, breaks }: Omit<RecordedVerification, 'verifiedAt'>): Promise<void> {
    // SQL: the database's clock dates it.
    await this.prisma.$executeRaw`
      INSERT INTO ledger_verification (took_ms, breaks) VALUES (${tookMs}::int, ${JSON.stringify(breaks)}::jsonb)
      ON CONFLICT (id) DO UPDATE SET verified_at = now(), took_ms = excluded.took_ms, breaks = excluded.breaks`;
  }

  async latest(): Promise<RecordedVerification | null> {
    const row = await this.prisma.ledgerVerification.findFirst();
    return row && { verifiedAt: row.verifiedAt, tookMs: row.tookMs, breaks: row.breaks as Record<string, number> };
  }
}
