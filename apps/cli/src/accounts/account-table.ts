import type { AccountsService } from '#accounts';
import type { CliContext } from '../cli-context.js';

type Accounts = Awaited<ReturnType<AccountsService['listAccounts']>>;

/** Prints one line per account. */
export function accountTable(context: CliContext, accounts: Accounts): void {
  context.output.table(
    ['ID', 'STATE', 'TIER', 'CREATED', 'NAME'],
    accounts.map(({ id, state, tier, createdAt, name }) => [id, state, tier, createdAt.toISOString(), name]),
  );
  context.next('sluice accounts show <id>, sluice keys list --account <id> or sluice usage --account <id>');
}
