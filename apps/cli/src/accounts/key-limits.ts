import { type Command, Option } from 'commander';
import type { ApiKeyRecord, LimitPeriod } from '#accounts';
import { formatNanos, type NanoUsd, nanosOf, parseNanos, PlatformError } from '#common';
import type { CliContext } from '../cli-context.js';

interface LimitOptions {
  limitUsd?: string;
  limitDiem?: string;
  limitPeriod?: LimitPeriod;
  json?: boolean;
}

/** `sluice keys set-limits` */
export function addKeyLimitCommand(keys: Command, context: CliContext): void {
  keys
    .command('set-limits <id>')
    .description('change the spending limits of a key; takes effect with its next request')
    .option('--limit-usd <amount>', 'limit in USD and bundled credits, or none')
    .option('--limit-diem <amount>', 'limit in DIEM, or none')
    .addOption(new Option('--limit-period <period>', 'when the limits reset').choices(['EPOCH', 'MONTH', 'LIFETIME']))
    .option('--json', 'print one JSON document to stdout')
    .action((id: string, options: LimitOptions) => setLimits(context, id, options));
}

async function setLimits(
  context: CliContext,
  id: string,
  { limitUsd, limitDiem, limitPeriod, json }: LimitOptions,
): Promise<void> {
  const changes = {
    ...(limitUsd !== undefined && { limitUsdNano: await changedLimit('--limit-usd', limitUsd) }),
    ...(limitDiem !== undefined && { limitDiemNano: await changedLimit('--limit-diem', limitDiem) }),
    ...(limitPeriod !== undefined && { limitPeriod }),
  };
  if (Object.keys(changes).length === 0) {
    throw new PlatformError('INVALID_REQUEST', 'Name --limit-usd, --limit-diem or --limit-period.');
  }
  const record = await (await context.requireAccounts()).changeKey(id, changes);
  if (json) return context.output.json(record);
  context.output.line(`${record.id}: ${limitsOf(record)}`);
  context.next('sluice keys list, or sluice usage --by key');
}

async function changedLimit(option: string, text: string): Promise<NanoUsd | null> {
  return text === 'none' ? null : limitOf(option, text);
}

/** Parses a spending limit; undefined is none. */
export async function limitOf(option: string, text: string | undefined): Promise<NanoUsd | null> {
  if (text === undefined) return null;
  const { largestLimit, storedLimit } = await import('#accounts');
  const limit = parseNanos(text);
  if (limit !== null && limit >= 0n && limit <= nanosOf(largestLimit)) return storedLimit(limit);
  const message = `${option} must be a decimal from 0 to ${largestLimit}, such as 12.5.`;
  throw new PlatformError('INVALID_REQUEST', message);
}

const periodNames: Record<LimitPeriod, string> = { EPOCH: 'per day', MONTH: 'per month', LIFETIME: 'in all' };

/** The limits of a key, for people. */
export function limitsOf({ limitUsdNano, limitDiemNano, limitPeriod }: ApiKeyRecord): string {
  const limits = [
    limitUsdNano === null ? [] : `${formatNanos(limitUsdNano)} USD`,
    limitDiemNano === null ? [] : `${formatNanos(limitDiemNano)} DIEM`,
  ].flat();
  return limits.length === 0 ? '–' : `${limits.join(', ')} ${periodNames[limitPeriod]}`;
}
