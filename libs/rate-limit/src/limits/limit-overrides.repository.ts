import { PlatformError } from '#common';
import { Injectable } from '#platform/injection';
import { Prisma, PrismaService } from '#platform/prisma';
import type { LimitOverride, LimitSubject } from './limit-override.js';

interface OverrideRow {
  accountId: string | null;
  apiKeyId: string | null;
  target: string;
  requestsPerMinute: bigint | null;
  tokensPerMinute: bigint | null;
  concurrentRequests: bigint | null;
}

/** The table of overrides. */
@Injectable()
export class LimitOverridesRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns all of them, by subject and target. */
  async list(): Promise<LimitOverride[]> {
    const rows: OverrideRow[] = await this.prisma.rateLimitOverride.findMany({
      orderBy: [{ accountId: 'asc' }, { apiKeyId: 'asc' }, { target: 'asc' }],
    });
    return rows.map(({ requestsPerMinute, tokensPerMinute, concurrentRequests, ...row }) => ({
      accountId: row.accountId,
      apiKeyId: row.apiKeyId,
      target: row.target,
      requests: requestsPerMinute === null ? null : Number(requestsPerMinute),
      tokens: tokensPerMinute === null ? null : Number(tokensPerMinute),
      concurrent: concurrentRequests === null ? null : Number(concurrentRequests),
    }));
  }

  /** Replaces the override of the same subject and target. Rejects with `NOT_FOUND` for an unknown account or key. */
  async set({ accountId, apiKeyId, target, requests, tokens, concurrent = null }: LimitOverride): Promise<void> {
    const limits = { requestsPerMinute: requests, tokensPerMinute: tokens, concurrentRequests: concurrent };
    const row = { accountId, apiKeyId, target, ...limits };
    try {
      await this.prisma.$transaction([
        this.prisma.rateLimitOverride.deleteMany({ where: { accountId, apiKeyId, target } }),
        this.prisma.rateLimitOverride.create({ data: row }),
      ]);
    } catch (error) {
      if (isUnknownSubject(error)) throw new PlatformError('NOT_FOUND', 'There is no such account or key.');
      throw error;
    }
  }

  /** Returns false when there was no override. */
  async remove({ accountId, apiKeyId }: LimitSubject, target: string): Promise<boolean> {
    const { count } = await this.prisma.rateLimitOverride.deleteMany({ where: { accountId, apiKeyId, target } });
    return count > 0;
  }
}

/** A missing key, or an id that cannot be a key at all. */
function isUnknownSubject(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && ['P2003', 'P2007', 'P2023'].includes(error.code);
}
