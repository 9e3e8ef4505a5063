import type { Command } from 'commander';
import { formatNanos, PlatformError } from '#common';
import type { CliContext } from '../cli-context.js';
import { requireLedger } from '../money/require-ledger.js';
import { accountTable } from './account-table.js';
import { resolveAccount } from './resolve-account.js';

const jsonFlag = ['--json', 'print one JSON document to stdout'] as const;
const longestName = 200;

interface JsonOption {
  json?: boolean;
}

/** The commands of `sluice accounts` that find, rename, suspend, close and delete accounts. */
export function addAccountStateCommands(accounts: Command, context: CliContext): void {
  accounts
    .command('find <text>')
    .description('find accounts by a part of the name, the beginning of the id, or the end of a key')
    .option(...jsonFlag)
    .action((text: string, options: JsonOption) => findAccounts(context, text, options));
  accounts
    .command('rename <account> <name>')
    .description('rename an account')
    .option(...jsonFlag)
    .action((account: string, name: string, options: JsonOption) => renameAccount(context, { account, name }, options));
  accounts
    .command('suspend <account>')
    .description('refuse all keys of an account until it is resumed; takes effect within 5 s')
    .option(...jsonFlag)
    .action((account: string, options: JsonOption) => setSuspended(context, { account, suspended: true }, options));
  accounts
    .command('resume <account>')
    .description('accept the keys of a suspended account again')
    .option(...jsonFlag)
    .action((account: string, options: JsonOption) => setSuspended(context, { account, suspended: false }, options));
  accounts
    .command('close <account>')
    .description('revoke all keys of an account for good; its ledger stays')
    .option(...jsonFlag)
    .action((account: string, options: JsonOption) => closeAccount(context, account, options));
  accounts
    .command('delete <account>')
    .description('close an account and forget its name, wallets and stored data; its ledger stays under a pseudonym')
    .option(...jsonFlag)
    .action((account: string, options: JsonOption) => deleteAccount(context, account, options));
}

async function findAccounts(context: CliContext, text: string, { json }: JsonOption): Promise<void> {
  const accounts = await (await context.requireAccounts()).searchAccounts(text);
  if (json) return context.output.json({ accounts });
  accountTable(context, accounts);
}

async function renameAccount(
  context: CliContext,
  { account, name: untrimmed }: { account: string; name: string },
  { json }: JsonOption,
): Promise<void> {
  const name = untrimmed.trim();
  if (name === '' || [...name].length > longestName) {
    throw new PlatformError('INVALID_REQUEST', `The name must have 1 to ${longestName} characters.`);
  }
  const { id } = await resolveAccount(context, account);
  await (await context.requireAccounts()).renameAccount(id, name);
  if (json) return context.output.json({ id, name });
  context.output.line(`${id}: ${name}`);
  context.next(`sluice accounts show ${id}`);
}

async function setSuspended(
  context: CliContext,
  { account, suspended }: { account: string; suspended: boolean },
  { json }: JsonOption,
): Promise<void> {
  const { id } = await resolveAccount(context, account);
  await (await context.requireAccounts()).setSuspended(id, suspended);
  const state = suspended ? 'suspended' : 'active';
  if (json) return context.output.json({ id, state });
  context.output.line(`${id}: ${state}`);
  context.next(
    suspended ? `sluice accounts resume ${id}, or sluice accounts close ${id}` : `sluice keys list --account ${id}`,
  );
}

/** Refuses while requests of the account run: their charges would follow after its last statement. */
async function closeAccount(context: CliContext, account: string, { json }: JsonOption): Promise<void> {
  const accounts = await context.requireAccounts();
  const { id, state } = await resolveAccount(context, account);
  const { heldNano, usdNano, bundledNano } = await (await requireLedger(context)).balance(id);
  if (state !== 'closed') refuseWhileHeld(id, heldNano, 'close');
  const revokedKeys = await accounts.closeAccount(id);
  if (json) return context.output.json({ id, state: 'closed', revokedKeys, usdNano, bundledNano });
  context.output.line(`${id}: closed, ${revokedKeys} keys revoked, ${formatNanos(usdNano)} USD left`);
  const refund = `sluice credits revoke ${formatNanos(usdNano)} --account ${id}, after a refund`;
  context.next(usdNano > 0n ? refund : `sluice accounts delete ${id}, to forget its name and wallets`);
}

function refuseWhileHeld(id: string, heldNano: bigint, verb: 'close' | 'delete'): void {
  if (heldNano === 0n) return;
  const way = `Run sluice accounts suspend ${id}, wait until its requests have ended, and ${verb} it then.`;
  throw new PlatformError('INVALID_REQUEST', `Open requests of the account reserve ${formatNanos(heldNano)}. ${way}`);
}

/** Refuses while requests of the account run, and while it has money: afterwards nobody knows whose it is. */
async function deleteAccount(context: CliContext, account: string, { json }: JsonOption): Promise<void> {
  const accounts = await context.requireAccounts();
  const { id } = await resolveAccount(context, account);
  const { heldNano, usdNano } = await (await requireLedger(context)).balance(id);
  refuseWhileHeld(id, heldNano, 'delete');
  if (usdNano > 0n) {
    const left = formatNanos(usdNano);
    const way = `Refund it, run sluice credits revoke ${left} --account ${id}, and delete it then.`;
    throw new PlatformError('INVALID_REQUEST', `The account has ${left} USD left. ${way}`);
  }
  const { revokedKeys, name } = await accounts.deleteAccount(id);
  if (json) return context.output.json({ id, state: 'closed', name, revokedKeys });
  context.output.line(`${id}: deleted, ${revokedKeys} keys revoked; its ledger stays as ${name}`);
  context.next(`sluice ledger show --account ${id}`);
}
