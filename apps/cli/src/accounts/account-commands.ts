import type { Command } from 'commander';
import { PlatformError } from '#common';
import type { CliContext } from '../cli-context.js';

interface CreateKeyOptions {
  kind: string;
  account?: string;
  description?: string;
  expires?: string;
  json?: boolean;
}

const jsonFlag = ['--json', 'answer with one JSON document on stdout'] as const;

/** `sluice keys …` and `sluice accounts …` */
export function addAccountCommands(program: Command, context: CliContext): void {
  const keys = program.command('keys').description('API keys').helpCommand(false);
  keys
    .command('create')
    .description('make a key; it is shown once')
    .option('--kind <kind>', 'INFERENCE or ADMIN', 'INFERENCE')
    .option('--account <id>', 'whose key; default: the first account')
    .option('--description <text>', 'to tell keys apart')
    .option('--expires <date>', 'ISO date at which it ends; default: never')
    .option(...jsonFlag)
    .action((options: CreateKeyOptions) => createKey(context, options));
  keys
    .command('list')
    .description('all keys, revoked ones too; never the keys themselves')
    .option('--account <id>', 'of one account')
    .option(...jsonFlag)
    .action((options: { account?: string; json?: boolean }) => listKeys(context, options));
  keys
    .command('revoke <id>')
    .description('end a key; takes 5 s at most')
    .option(...jsonFlag)
    .action((id: string, options: { json?: boolean }) => revokeKey(context, id, options));

  const accounts = program.command('accounts').description('accounts').helpCommand(false);
  accounts
    .command('list')
    .option(...jsonFlag)
    .description('all accounts, oldest first')
    .action((options: { json?: boolean }) => listAccounts(context, options));
  accounts
    .command('create <name>')
    .option(...jsonFlag)
    .description('make an account')
    .action((name: string, options: { json?: boolean }) => createAccount(context, name, options));
}

async function createKey(context: CliContext, options: CreateKeyOptions): Promise<void> {
  const accounts = await context.requireAccounts();
  const kind = options.kind.toUpperCase();
  if (kind !== 'INFERENCE' && kind !== 'ADMIN') throw invalid('--kind must be INFERENCE or ADMIN.');
  const accountId = options.account ?? (await accounts.listAccounts())[0]?.id;
  if (accountId === undefined) throw invalid('There is no account yet. Make one with: sluice accounts create <name>');
  const { key, record } = await accounts.createKey({
    accountId,
    kind,
    description: options.description,
    expiresAt: expiryOf(options.expires),
  });
  if (options.json) return context.output.json({ key, ...record });
  context.output.line(key);
}

async function listKeys(context: CliContext, options: { account?: string; json?: boolean }): Promise<void> {
  const keys = await (await context.requireAccounts()).listKeys(options.account);
  if (options.json) return context.output.json({ keys });
  context.output.table(
    ['ID', 'KIND', 'ENDS IN', 'CREATED', 'LAST USED', 'STATE', 'DESCRIPTION'],
    keys.map((key) => [
      key.id,
      key.kind,
      `…${key.last6}`,
      key.createdAt.toISOString(),
      key.lastUsedAt?.toISOString() ?? '–',
      key.revokedAt ? 'revoked' : key.expiresAt ? `until ${key.expiresAt.toISOString()}` : 'valid',
      key.description,
    ]),
  );
}

async function revokeKey(context: CliContext, id: string, { json }: { json?: boolean }): Promise<void> {
  const revoked = await (await context.requireAccounts()).revokeKey(id);
  if (!revoked) throw new PlatformError('NOT_FOUND', `There is no valid key with the id ${id}.`);
  if (json) return context.output.json({ id, revoked });
  context.output.line(`${id}: revoked`);
}

async function listAccounts(context: CliContext, { json }: { json?: boolean }): Promise<void> {
  const accounts = await (await context.requireAccounts()).listAccounts();
  if (json) return context.output.json({ accounts });
  const rows = accounts.map(({ id, name, createdAt }) => [id, name, createdAt.toISOString()]);
  context.output.table(['ID', 'NAME', 'CREATED'], rows);
}

async function createAccount(context: CliContext, name: string, { json }: { json?: boolean }): Promise<void> {
  const account = await (await context.requireAccounts()).createAccount(name);
  if (json) return context.output.json(account);
  context.output.line(account.id);
}

function expiryOf(text: string | undefined): Date | null {
  if (text === undefined) return null;
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) throw invalid('--expires must be an ISO date such as 2027-01-31.');
  if (date.getTime() <= Date.now()) throw invalid('--expires must lie in the future.');
  return date;
}

function invalid(message: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', message);
}
