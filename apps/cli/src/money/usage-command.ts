import { type Command, Option } from 'commander';
import type { UsageAnalyticsService } from '#billing';
import { formatNanos, PlatformError } from '#common';
import { resolveAccount } from '../accounts/resolve-account.js';
import type { CliContext } from '../cli-context.js';

type UsageAnalytics = Awaited<ReturnType<UsageAnalyticsService['analyse']>>;
type Grouping = 'model' | 'key' | 'day';

interface UsageOptions {
  account?: string;
  days: string;
  by: Grouping;
  json?: boolean;
}

const mostDays = 90;
const oneDayMs = 86_400_000;

/** `sluice usage` */
export function addUsageCommand(program: Command, context: CliContext): void {
  program
    .command('usage')
    .description('what an account used and spent')
    .option('--account <account>', 'id or name of the account; default: the first account')
    .option('--days <count>', `UTC days up to today, at most ${mostDays}`, '7')
    .addOption(new Option('--by <what>', 'one line per').choices(['model', 'key', 'day']).default('model'))
    .option('--json', 'print one JSON document to stdout')
    .action((options: UsageOptions) => showUsage(context, options));
}

async function showUsage(context: CliContext, { account, days, by, json }: UsageOptions): Promise<void> {
  const count = /^\d{1,2}$/.test(days) ? Number(days) : 0;
  if (count < 1 || count > mostDays) {
    throw new PlatformError('INVALID_REQUEST', `--days must be a whole number from 1 to ${mostDays}.`);
  }
  const { id } = await resolveAccount(context, account);
  const { UsageAnalyticsRepository, UsageAnalyticsService } = await import('#billing');
  const endDate = dayOf(Date.now());
  const startDate = dayOf(Date.now() - (count - 1) * oneDayMs);
  const usage = await new UsageAnalyticsService(new UsageAnalyticsRepository(await context.requireDatabase())).analyse(
    id,
    { startDate, endDate },
  );
  const { byDate, byModel, byKey } = usage;
  if (json) return context.output.json({ accountId: id, startDate, endDate, byDate, byModel, byKey });
  context.output.line(`${id}, ${startDate} to ${endDate}`);
  const rows = rowsOf(usage, by);
  if (rows.length === 0) return context.output.line('nothing was used');
  context.output.table([by.toUpperCase(), 'UNITS', 'USD', 'DIEM'], rows);
  context.next(by === 'model' ? `sluice usage --account ${id} --by key` : `sluice ledger show --account ${id}`);
}

function rowsOf({ byDate, byModel, byKey }: UsageAnalytics, by: Grouping): string[][] {
  const lines =
    by === 'day'
      ? byDate.map((day) => ({ ...day, name: day.date, units: '' }))
      : by === 'key'
        ? byKey.map((key) => ({ ...key, units: String(key.units) }))
        : byModel.map((model) => ({ ...model, name: model.modelName, units: `${model.units} ${model.unitType}` }));
  return lines.map(({ name, units, usdNano, diemNano }) => [name, units, formatNanos(usdNano), formatNanos(diemNano)]);
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
