import { Injectable } from '#platform/injection';
import { PrismaService, type RawQueries } from '#platform/prisma';

/** Folds charges and requests into sums per quarter of an hour (the migration of `usage_fold`). */
@Injectable()
export class UsageFoldRepository {
  // SQL: the function of the migration locks, sums and moves on in one statement.
  constructor(private readonly prisma: PrismaService) {}

  /** Folds up to `spanMs` of what is older than `lagMs`; returns true when there is more. */
  async fold({ lagMs, spanMs }: { lagMs: number; spanMs: number }): Promise<boolean> {
    const [row] = await this.prisma.$queryRaw<{ more: boolean }[]>`
      SELECT usage_fold(${lagMs}::float8 * interval '1 ms', ${spanMs}::float8 * interval '1 ms') AS more`;
    return row?.more ?? false;
  }

  /** Returns until when usage is folded; null: not at all. */
  async foldedThrough(): Promise<Date | null> {
    return await readFoldedThrough(this.prisma);
  }
}

/** The same as `UsageFoldRepository.foldedThrough`, for other repositories. */
export async function readFoldedThrough(queries: RawQueries): Promise<Date | null> {
  const [row] = await queries.$queryRaw<{ through: Date | null }[]>`
    SELECT NULLIF(through, '-infinity') AS through FROM usage_folded`;
  return row?.through ?? null;
}
