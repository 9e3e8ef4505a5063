import type { PrismaService } from '#platform/prisma';
import { LedgerEntriesRepository } from './ledger-entries.repository.js';
import { LedgerVerificationRepository } from './ledger-verification.repository.js';
import { LedgerRepository } from './ledger.repository.js';
import { LedgerService } from './ledger.service.js';

/** Composes the ledger for processes without NestJS. */
export function createLedger(prisma: PrismaService): LedgerService {
  return new LedgerService(
    new LedgerRepository(prisma),
    new LedgerEntriesRepository(prisma),
    new LedgerVerificationRepository(prisma),
  );
}
