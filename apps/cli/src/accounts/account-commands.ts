import { type Command, Option } from 'commander';
import type { AccountTier } from '#accounts';
import { formatNanos, PlatformError } from '#common';
import type { CliContext } from '../cli-context.js';
import { addAccountStateCommands } from './account-state-commands.js';
import { accountTable } from './account-table.js';
import { resolveAccount } from './resolve-account.js';
import { requireLedger } from '../money/require-ledger.js';

const jsonFlag = ['--json', 'print one JSON document to stdout'] as const;
const tiers: readonly AccountTier[] = ['default', 'partner'];

/** `sluice accounts …` */
export function addAccountCommands(program: Command, context: CliContext): void {
  const accounts = program.command('accounts').description('accounts').helpCommand(false);
  accounts
    .command('create <name>')
    .description('create an account')
    .addOption(new Option('--tier <tier>', 'rate-limit tier of the account').choices(tiers).default('default'))
    .option(...jsonFlag)
    .action((name: string, options: { tier: AccountTier; json?: boolean }) => createAccount(context, name, options));
  accounts
    .command('list')
    .description('list all accounts, oldest first')
    .addOption(new Option('--tier <tier>', 'only accounts of this tier').choices(tiers))
    .option(...jsonFlag)
    .action((options: { tier?: AccountTier; json?: boolean }) => listAccounts(context, options));
  accounts
    .command('show [account]')
    .description('show an account, by id or name, and its balance; default: the first account')
    .option(...jsonFlag)
    .action((account: string | undefined, options: { json?: boolean }) => showAccount(context, account, options));
  addAccountStateCommands(accounts, context);
  accounts
    .command('set-tier <account> <tier>')
    .description(`set the rate-limit tier of an account (${tiers.join(', ')}); takes effect within 5 s`)
    .option(...jsonFlag)
    .action((account: string, tier: string, options: { json?: boolean }) =>
      setTier(context, { account, tier }, options),
    );
  accounts
    .command('beta <account>')
    .description('grant an account access to models in closed beta; takes effect within 5 s')
    .option('--off', 'withdraw the access')
    .option(...jsonFlag)
    .action((account: string, options: { off?: boolean; json?: boolean }) => setBetaAccess(context, account, options));
  accounts
    .command('operator <account>')
    .description(
      'let the ADMIN keys of an account see and run the installation in the console; takes effect within 5 s',
    )
    .option('--off', 'let them no longer')
    .option(...jsonFlag)
    .action((account: string, options: { off?: boolean; json?: boolean }) => setOperator(context, account, options));
}

async function setOperator(
  context: CliContext,
  account: string,
  { off = false, json }: { off?: boolean; json?: boolean },
): Promise<void> {
  const isOperator = !off;
  const { id } = await resolveAccount(context, account);
  await (await context.requireAccounts()).setOperator(id, isOperator);
  if (json) return context.output.json({ id, isOperator });
  context.output.line(`${id}: ${isOperator ? 'is' : 'is not'} an operator account`);
  context.next(isOperator ? `sluice console link --account ${id}` : `sluice accounts show ${id}`);
}

async function setBetaAccess(
  context: CliContext,
  account: string,
  { off = false, json }: { off?: boolean; json?: boolean },
): Promise<void> {
  const betaAccess = !off;
  const { id } = await resolveAccount(context, account);
  await (await context.requireAccounts()).setBetaAccess(id, betaAccess);
  if (json) return context.output.json({ id, betaAccess });
  context.output.line(`${id}: ${betaAccess ? 'has' : 'has no'} access to models in closed beta`);
  context.next(`sluice accounts show ${id}${betaAccess ? `, or sluice accounts beta ${id} --off` : ''}`);
}

async function createAccount(
  context: CliContext,
  name: string,
  { tier, json }: { tier: AccountTier; json?: boolean },
): Promise<void> {
  const account = await (await context.requireAccounts()).createAccount(name, tier);
  if (json) return context.output.json(account);
  context.output.line(account.id);
  context.next(`sluice keys create --account ${account.id}, and sluice credits grant <amount> --account ${account.id}`);
}

async function listAccounts(
  context: CliContext,
  { tier, json }: { tier?: AccountTier; json?: boolean },
): Promise<void> {
  const all = await (await context.requireAccounts()).listAccounts();
  const accounts = all.filter((account) => tier === undefined || account.tier === tier);
  if (json) return context.output.json({ accounts });
  accountTable(context, accounts);
}

async function setTier(
  context: CliContext,
  { account, tier: text }: { account: string; tier: string },
  { json }: { json?: boolean },
): Promise<void> {
  const tier = tiers.find((known) => known === text);
  if (tier === undefined) throw new PlatformError('INVALID_REQUEST', `The tier must be one of: ${tiers.join(', ')}.`);
  const { id } = await resolveAccount(context, account);
  await (await context.requireAccounts()).setTier(id, tier);
  if (json) return context.output.json({ id, tier });
  context.output.line(`${id}: ${tier}`);
  context.next(`sluice accounts show ${id}, or sluice limits list`);
}

/** `sluice accounts show`: prints the account and its balances. */
async function showAccount(
  context: CliContext,
  idOrName: string | undefined,
  { json }: { json?: boolean },
): Promise<void> {
  const account = await resolveAccount(context, idOrName);
  const balance = await (await requireLedger(context)).balance(account.id);
  if (json) return context.output.json({ ...account, balance });
  context.output.line(`${account.id}  ${account.name}`);
  const beta = `${account.betaAccess ? ', beta access' : ''}${account.isOperator ? ', operator' : ''}`;
  if (account.state !== 'active') context.output.line(account.state);
  context.output.line(`tier ${account.tier}${beta}, since ${account.createdAt.toISOString()}`);
  context.output.table(
    ['CURRENCY', 'FREE'],
    [
      ['DIEM', `${formatNanos(balance.diemNano)} of ${formatNanos(balance.diemAllowanceNano)} today`],
      ['BUNDLED', formatNanos(balance.bundledNano)],
      ['USD', formatNanos(balance.usdNano)],
    ],
  );
  context.output.line(`reserved by open requests: ${formatNanos(balance.heldNano)}`);
  context.next(`sluice usage --account ${account.id}, or sluice keys list --account ${account.id}`);
}
