import type { LedgerService } from '#billing';
import type { CliContext } from '../cli-context.js';

export async function requireLedger(context: CliContext): Promise<LedgerService> {
  const prisma = await context.requireDatabase();
  const { LedgerService } = await import('#billing');
  return new LedgerService(prisma);
}
