import { type Command, Option } from 'commander';
import type { ApiKeyKind, ApiKeyRecord, LimitPeriod, ModelPrivacy } from '#accounts';
import { PlatformError } from '#common';
import type { CliContext } from '../cli-context.js';
import { addKeyLimitCommand, limitOf, limitsOf } from './key-limits.js';
import { resolveAccount } from './resolve-account.js';

interface CreateKeyOptions {
  kind: string;
  account?: string;
  description?: string;
  expires?: string;
  limitUsd?: string;
  limitDiem?: string;
  limitPeriod: LimitPeriod;
  modelPrivacy: ModelPrivacy;
  json?: boolean;
}

const jsonFlag = ['--json', 'print one JSON document to stdout'] as const;
/** Same limit as in the API. */
const longestDescription = 64;

/** `sluice keys …` */
export function addKeyCommands(program: Command, context: CliContext): void {
  const keys = program.command('keys').description('API keys').helpCommand(false);
  keys
    .command('create')
    .description('create a key; it is shown once')
    .option('--kind <kind>', 'INFERENCE or ADMIN', 'INFERENCE')
    .option('--account <account>', 'account that owns the key, by id or name; default: the first account')
    .option('--description <text>', `description of the key; at most ${longestDescription} characters`)
    .option('--expires <date>', 'ISO date at which the key expires; default: never')
    .option('--limit-usd <amount>', 'spending limit in USD and bundled credits; 0: nothing; default: no limit')
    .option('--limit-diem <amount>', 'spending limit in DIEM; 0: nothing; default: no limit')
    .addOption(
      new Option(
        '--limit-period <period>',
        'when spending limits reset: each UTC day (EPOCH), each UTC month, or never',
      )
        .choices(['EPOCH', 'MONTH', 'LIFETIME'])
        .default('EPOCH'),
    )
    .addOption(
      new Option('--model-privacy <policy>', 'models the key may call')
        .choices(['ALL', 'PRIVATE_TEXT', 'PRIVATE_ONLY'])
        .default('ALL'),
    )
    .option(...jsonFlag)
    .action((options: CreateKeyOptions) => createKey(context, options));
  keys
    .command('list')
    .description('list all keys, including revoked ones; secrets are never shown')
    .option('--account <account>', 'only keys of this account, by id or name')
    .option(...jsonFlag)
    .action((options: { account?: string; json?: boolean }) => listKeys(context, options));
  addKeyLimitCommand(keys, context);
  keys
    .command('revoke <id>')
    .description('revoke a key; takes effect within 5 s')
    .option(...jsonFlag)
    .action((id: string, options: { json?: boolean }) => revokeKey(context, id, options));
}

async function createKey(context: CliContext, options: CreateKeyOptions): Promise<void> {
  const { limitPeriod, modelPrivacy } = options;
  const settings = {
    kind: kindOf(options.kind),
    description: descriptionOf(options.description),
    expiresAt: await expiryOf(options.expires),
    limitUsdNano: await limitOf('--limit-usd', options.limitUsd),
    limitDiemNano: await limitOf('--limit-diem', options.limitDiem),
    limitPeriod,
    modelPrivacy,
  };
  const accounts = await context.requireAccounts();
  const account = await resolveAccount(context, options.account);
  if (account.state === 'closed') throw invalid(`The account ${account.id} is closed. Closing is final.`);
  const { key, record } = await accounts.createKey({ accountId: account.id, ...settings });
  if (options.json) return context.output.json({ key, ...record });
  context.output.line(key);
  context.next(`sluice keys set-limits ${record.id} --limit-usd <amount>, or sluice keys revoke ${record.id}`);
}

async function listKeys(context: CliContext, options: { account?: string; json?: boolean }): Promise<void> {
  const accounts = await context.requireAccounts();
  const account = options.account === undefined ? undefined : await resolveAccount(context, options.account);
  const keys = await accounts.listKeys(account?.id);
  if (options.json) return context.output.json({ keys });
  context.output.table(
    ['ID', 'KIND', 'ENDS IN', 'CREATED', 'LAST USED', 'STATE', 'LIMITS', 'MODELS', 'DESCRIPTION'],
    keys.map((key) => [
      key.id,
      key.kind,
      `…${key.last6}`,
      key.createdAt.toISOString(),
      key.lastUsedAt?.toISOString() ?? '–',
      stateOf(key),
      limitsOf(key),
      key.modelPrivacy,
      key.description,
    ]),
  );
  context.next('sluice keys set-limits <id> --limit-usd <amount>, or sluice keys revoke <id>');
}

async function revokeKey(context: CliContext, id: string, { json }: { json?: boolean }): Promise<void> {
  const revoked = await (await context.requireAccounts()).revokeKey(id);
  if (!revoked) throw new PlatformError('NOT_FOUND', `There is no valid key with the id ${id}.`);
  if (json) return context.output.json({ id, revoked });
  context.output.line(`${id}: revoked`);
  context.next('sluice keys create, or sluice keys list');
}

function stateOf({ revokedAt, expiresAt }: ApiKeyRecord): string {
  if (revokedAt) return 'revoked';
  if (!expiresAt) return 'valid';
  return expiresAt.getTime() <= Date.now() ? 'expired' : `until ${expiresAt.toISOString()}`;
}

function kindOf(text: string): ApiKeyKind {
  const kind = text.toUpperCase();
  if (kind !== 'INFERENCE' && kind !== 'ADMIN') throw invalid('--kind must be INFERENCE or ADMIN.');
  return kind;
}

function descriptionOf(text = ''): string {
  if ([...text].length <= longestDescription) return text;
  throw invalid(`--description must have at most ${longestDescription} characters.`);
}

async function expiryOf(text: string | undefined): Promise<Date | null> {
  if (text === undefined) return null;
  const { expiryMoment } = await import('#accounts');
  const date = expiryMoment(text);
  if (date === null) throw invalid('--expires must be an ISO date such as 2027-01-31, or 2027-01-31T12:00:00Z.');
  if (date.getTime() <= Date.now()) throw invalid('--expires must be in the future.');
  return date;
}

function invalid(message: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', message);
}
