import type { Command } from 'commander';
import { formatNanos, isUuid, PlatformError } from '#common';
import type { TopUp, TopUpsRepository } from '#payments';
import type { CliContext } from '../cli-context.js';

const jsonFlag = ['--json', 'print one JSON document to stdout'] as const;
const maxRows = 1_000;

/** `sluice top-ups …` */
export function addTopUpCommands(program: Command, context: CliContext): void {
  const topUps = program.command('top-ups').description('payments of wallets').helpCommand(false);
  topUps
    .command('list')
    .description('list payments, newest first')
    .argument('[search]', 'a state, or (the beginning of) an id, payer, account or transaction')
    .option('--limit <count>', `number of payments, at most ${maxRows}`, '50')
    .option(...jsonFlag)
    .action((search: string | undefined, options: { limit: string; json?: boolean }) => list(context, search, options));
  topUps
    .command('show <id>')
    .description('show all that is known of a payment')
    .option(...jsonFlag)
    .action((id: string, options: { json?: boolean }) => show(context, id, options));
}

async function requireTopUps(context: CliContext): Promise<TopUpsRepository> {
  const prisma = await context.requireDatabase();
  const { TopUpsRepository } = await import('#payments');
  return new TopUpsRepository(prisma);
}

async function list(
  context: CliContext,
  search: string | undefined,
  options: { limit: string; json?: boolean },
): Promise<void> {
  const limit = Number(options.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > maxRows) {
    throw new PlatformError('INVALID_REQUEST', `--limit must be a number from 1 to ${maxRows}.`);
  }
  const rows = await (await requireTopUps(context)).list({ limit, search: search ?? null });
  if (options.json) return context.output.json(rows);
  context.output.table(
    ['TIME', 'ID', 'STATE', 'USD', 'NETWORK', 'PAYER', 'REASON'],
    rows.map(({ createdAt, id, state, amountNano, network, payer, reason }) => [
      createdAt.toISOString(),
      id,
      state,
      formatNanos(amountNano, 2),
      network,
      payer ?? '(erased)',
      reason ?? '–',
    ]),
  );
  context.next('sluice top-ups show <id>');
}

async function show(context: CliContext, id: string, { json }: { json?: boolean }): Promise<void> {
  const topUps = await requireTopUps(context);
  const topUp = isUuid(id) ? await topUps.find(id) : null;
  if (topUp === null) throw new PlatformError('NOT_FOUND', `There is no top-up ${id}.`);
  const { payloadHash: _payload, fingerprint: _fingerprint, answer: _answer, ...known } = topUp;
  if (json) return context.output.json(known);
  for (const [name, value] of linesOf(known)) context.output.line(`${name.padEnd(12)} ${value}`);
}

function linesOf(topUp: TopUp): [name: string, value: string][] {
  const { postedNano, settles, validUntil, endedAt, nextLookAt } = topUp;
  return [
    ['id', topUp.id],
    ['state', topUp.state],
    ['amount', `${formatNanos(topUp.amountNano)} USD`],
    ['posted', `${formatNanos(postedNano)} USD`],
    ['network', topUp.network],
    ['payer', topUp.payer ?? '(erased)'],
    ['account', topUp.accountId ?? '–'],
    ['transaction', topUp.transaction ?? '–'],
    ['reason', [topUp.reason, topUp.message].filter(Boolean).join(': ') || '–'],
    ['sent', `${settles} times`],
    ['created', topUp.createdAt.toISOString()],
    ['valid until', validUntil.toISOString()],
    ['ended', endedAt?.toISOString() ?? '–'],
    ['next look', nextLookAt?.toISOString() ?? 'never'],
  ];
}
