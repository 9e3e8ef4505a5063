import { type Command, Option } from 'commander';
import { type CreditKind, LedgerArchiver, LedgerArchiveRepository } from '#billing';
import { currencies, type Currency, formatNanos, type NanoUsd, parseNanos, PlatformError } from '#common';
import { resolveAccount } from '../accounts/resolve-account.js';
import type { CliContext } from '../cli-context.js';
import { requireLedger } from './require-ledger.js';
import { addUsageCommand } from './usage-command.js';
import { verifyLedger } from './verify-ledger.js';

const jsonFlag = ['--json', 'print one JSON document to stdout'] as const;
const maxEntries = 10_000;

interface CreditOptions {
  account?: string;
  currency: Currency;
  paid?: boolean;
  reference?: string;
  note?: string;
  json?: boolean;
}

/** `sluice ledger …`, `sluice credits …`, `sluice usage` and `sluice diem …`. */
export function addMoneyCommands(program: Command, context: CliContext): void {
  addLedgerCommands(program, context);
  addCreditCommands(program, context);
  addUsageCommand(program, context);
  program
    .command('diem')
    .description('manage stakes and their daily allowance')
    .helpCommand(false)
    .command('set-stake <amount>')
    .description('set the staked DIEM of an account; changes its allowance of today at once')
    .option('--account <account>', 'id or name of the account; default: the first account')
    .option(...jsonFlag)
    .action((amount: string, options: { account?: string; json?: boolean }) => setStake(context, amount, options));
}

function addLedgerCommands(program: Command, context: CliContext): void {
  const ledger = program.command('ledger').description('verify the ledger and show its entries').helpCommand(false);
  ledger
    .command('verify')
    .description('verify the whole ledger in one pass; exits with 1 on any violation')
    .option('--archives <folder>', 'also check the files of all archives, which are in this folder')
    .option(...jsonFlag)
    .action(async (options: { archives?: string; json?: boolean }) => {
      await verifyLedger(context, options);
      if (options.archives !== undefined) await checkArchives(context, options.archives);
    });
  ledger
    .command('archive')
    .description('move the transactions of closed months to a file; closing balances stand for them')
    .requiredOption('--before <month>', 'first month that stays, such as 2026-10')
    .requiredOption('--to <folder>', 'folder of the file')
    .option(...jsonFlag)
    .action((options: { before: string; to: string; json?: boolean }) => archiveLedger(context, options));
  ledger
    .command('show')
    .description('list the entries of an account, newest first')
    .option('--account <account>', 'id or name of the account; default: the first account')
    .option('--limit <count>', `number of entries, at most ${maxEntries}`, '20')
    .option(...jsonFlag)
    .action((options: { account?: string; limit: string; json?: boolean }) =>
      showLedger(context, { ...options, limit: countOf(options.limit) }),
    );
}

function addCreditCommands(program: Command, context: CliContext): void {
  const credits = program.command('credits').description('manage credit of accounts').helpCommand(false);
  const add = (name: string, description: string) =>
    credits
      .command(`${name} <amount>`)
      .description(description)
      .option('--account <account>', 'id or name of the account; default: the first account')
      .addOption(new Option('--currency <currency>', 'which').choices(currencies).default('USD'))
      .option('--reference <text>', 'idempotency reference; the same reference counts once')
      .option('--note <text>', 'note shown with the entry')
      .option(...jsonFlag);
  add('grant', 'give credit')
    .option('--paid', 'mark the credit as paid: a top-up, not a promotion')
    .action((amount: string, options: CreditOptions) =>
      credit(context, options.paid ? 'top_up' : 'grant', amount, options),
    );
  add('revoke', 'revoke credit that is neither spent nor reserved').action((amount: string, options: CreditOptions) =>
    credit(context, 'revoke', amount, options),
  );
}

async function credit(context: CliContext, kind: CreditKind, amount: string, options: CreditOptions): Promise<void> {
  const ledger = await requireLedger(context);
  const { currency, reference, note } = options;
  const amountNano = amountOf(amount);
  const { id: accountId } = await resolveAccount(context, options.account);
  const posted = await ledger.credit(kind, { accountId, currency, amountNano, reference, note });
  if (options.json) return context.output.json({ accountId, kind, currency, amount, posted });
  const verb = kind === 'revoke' ? 'revoked' : 'granted';
  context.output.line(
    posted ? `${accountId}: ${amount} ${currency} ${verb}` : `${accountId}: unchanged, already applied`,
  );
  context.next(`sluice accounts show ${accountId}, or sluice ledger show --account ${accountId}`);
}

async function setStake(
  context: CliContext,
  amount: string,
  options: { account?: string; json?: boolean },
): Promise<void> {
  const ledger = await requireLedger(context);
  const stakeNano = amountOf(amount, { zero: true });
  const { id: accountId } = await resolveAccount(context, options.account);
  const allowanceNano = await ledger.setStake(accountId, stakeNano);
  if (options.json) return context.output.json({ accountId, stakeNano, allowanceNano });
  context.output.line(`${accountId}: ${allowanceNano > 0n ? `${amount} DIEM every day` : 'no allowance'}`);
  context.next(`sluice accounts show ${accountId}`);
}

function amountOf(text: string, { zero = false } = {}): NanoUsd {
  const amount = parseNanos(text);
  if (amount === null || amount < 0n || (amount === 0n && !zero) || amount >= 10n ** 18n) {
    throw new PlatformError('INVALID_REQUEST', 'The amount must be a decimal such as 12.5, below a billion.');
  }
  return amount;
}

function countOf(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count > 0 && count <= maxEntries) return count;
  throw new PlatformError('INVALID_REQUEST', `--limit must be a number from 1 to ${maxEntries}.`);
}

interface ArchiveOptions {
  before: string;
  to: string;
  json?: boolean;
}

/** `sluice ledger archive`: transactions of closed months leave the ledger for a file. */
async function archiveLedger(context: CliContext, { before, to, json }: ArchiveOptions): Promise<void> {
  const repository = new LedgerArchiveRepository(await context.requireDatabase());
  const archiver = new LedgerArchiver(repository, (line) => context.note(line));
  const result = await archiver.archive({ month: before, folder: to });
  if (json) return context.output.json(result);
  const { path, sha256, transactions, entries } = result;
  if (path === null) return context.output.line('nothing was posted before, or it is archived already');
  context.output.line(`${transactions} transactions with ${entries} entries are in ${path}`);
  context.output.line(`sha256 ${sha256}`);
  context.next(`sluice ledger verify --archives ${to}`);
}

/** Rejects where the file of an archive is missing from the folder, or was changed. */
async function checkArchives(context: CliContext, folder: string): Promise<void> {
  const faults = await new LedgerArchiver(new LedgerArchiveRepository(await context.requireDatabase())).check(folder);
  if (faults.length === 0) return;
  const list = faults.map(({ file, fault }) => `${file} ${fault}`).join(', ');
  throw new PlatformError('UNKNOWN_ERROR', `Archives are not whole: ${list}.`);
}

interface ShowOptions {
  account?: string;
  limit: number;
  json?: boolean;
}

/** `sluice ledger show`: the entries of one account. */
async function showLedger(context: CliContext, { account, limit, json }: ShowOptions): Promise<void> {
  const { id: accountId } = await resolveAccount(context, account);
  const ledger = await requireLedger(context);
  // An existing account without entries gets an empty table; an unknown one an error.
  await ledger.balance(accountId);
  const entries = await ledger.entries(accountId, limit);
  if (json) return context.output.json({ accountId, entries });
  context.output.table(
    ['TIME', 'KIND', 'AMOUNT', 'CURRENCY', 'FOR', 'REQUEST'],
    entries.map(({ createdAt, kind, amountNano, currency, sku, note, requestId }) => [
      createdAt.toISOString(),
      kind,
      formatNanos(amountNano, 9),
      currency,
      sku ?? note,
      requestId ?? '–',
    ]),
  );
}
