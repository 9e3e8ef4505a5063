import type { LedgerService } from '#billing';
import type { CliContext } from '../cli-context.js';

export async function requireLedger(context: CliContext): Promise<LedgerService> {
  const prisma = await context.requireDatabase();
  const { createLedger } = await import('#billing');
  return createLedger(prisma);
}
