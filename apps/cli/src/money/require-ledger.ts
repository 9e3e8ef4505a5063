import type { LedgerService } from '#billing';
import { PlatformError } from '#common';
import type { CliContext } from '../cli-context.js';

export async function requireLedger(context: CliContext): Promise<LedgerService> {
  const prisma = await context.requireDatabase();
  const { LedgerService } = await import('#billing');
  return new LedgerService(prisma);
}

/** Returns the named account, or the first one. */
export async function resolveAccount(context: CliContext, id: string | undefined): Promise<string> {
  if (id !== undefined) return id;
  const first = (await (await context.requireAccounts()).listAccounts())[0];
  if (first) return first.id;
  throw new PlatformError('NOT_FOUND', 'There is no account yet. Create one with: sluice accounts create <name>');
}
