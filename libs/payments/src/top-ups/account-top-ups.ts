import { Injectable } from '#platform/injection';
import { boundedRead, PrismaService } from '#platform/prisma';
import type { TopUp } from './top-up.js';
import { TopUpsRepository } from './top-ups.repository.js';

/** How long the database may look, in ms. */
const timeoutMs = 2_000;

/** What an account sees of its own top-ups. */
@Injectable()
export class AccountTopUps {
  constructor(private readonly prisma: PrismaService) {}

  /** The latest, newest first. Rejects with `REQUEST_TIMEOUT` when the database takes too long. */
  async latest(accountId: string, limit: number): Promise<TopUp[]> {
    return boundedRead(this.prisma, { owner: accountId, timeoutMs }, (transaction) =>
      new TopUpsRepository(transaction).ofAccount(accountId, limit),
    );
  }
}
