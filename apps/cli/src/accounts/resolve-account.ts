import type { Account } from '#accounts';
import { PlatformError } from '#common';
import type { CliContext } from '../cli-context.js';

/** Returns the account of an id or a name that only one account has; without one, the first account. */
export async function resolveAccount(context: CliContext, idOrName: string | undefined): Promise<Account> {
  const accounts = await context.requireAccounts();
  if (idOrName !== undefined) return await accounts.findAccountByIdOrName(idOrName);
  const [first] = await accounts.listAccounts();
  if (first !== undefined) return first;
  throw new PlatformError('NOT_FOUND', 'There is no account yet. Create one with: sluice accounts create <name>');
}
