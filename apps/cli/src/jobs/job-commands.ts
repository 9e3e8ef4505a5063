import { type Command, Option } from 'commander';
import { PlatformError } from '#common';
import type { JobState } from '#jobs';
import type { JobFilter, ListedJob } from '#jobs/inspection';
import type { CliContext } from '../cli-context.js';
import { cancelJob } from './cancel-job.js';
import { showJob } from './show-job.js';
import { resolveAccount } from '../accounts/resolve-account.js';
import { requireInspection } from './require-inspection.js';

const jsonFlag = ['--json', 'print one JSON document to stdout'] as const;
const states: readonly JobState[] = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired'];
const maxListed = 10_000;

interface ListOptions {
  state?: JobState[];
  model?: string;
  account?: string;
  olderThan?: string;
  stuck?: boolean;
  limit: string;
  json?: boolean;
}

/** `sluice jobs …` */
export function addJobCommands(program: Command, context: CliContext): void {
  const jobs = program.command('jobs').description('requests that run a model').helpCommand(false);
  jobs
    .command('list')
    .description('list jobs, newest first')
    .addOption(new Option('--state <states...>', 'only jobs in these states').choices(states))
    .option('--model <id>', 'only jobs of this model')
    .option('--account <account>', 'only jobs of this account, by id or name')
    .option('--older-than <time>', 'only jobs that were admitted at least so long ago: 30s, 10m, 2h or 1d')
    .option('--stuck', 'only open jobs past their deadline, or queued for two minutes')
    .option('--limit <count>', `at most so many, up to ${maxListed}`, '50')
    .option(...jsonFlag)
    .action((options: ListOptions) =>
      listJobs(context, {
        states: options.state,
        modelId: options.model,
        account: options.account,
        olderThanMs: options.olderThan === undefined ? undefined : millisecondsOf(options.olderThan),
        isStuck: options.stuck,
        limit: limitOf(options.limit),
        json: options.json,
      }),
    );
  jobs
    .command('show <id>')
    .description('show a job by its request id (CF-RAY), or by the queue id of an async job')
    .option(...jsonFlag)
    .action((id: string, options: { json?: boolean }) => showJob(context, id, options));
  jobs
    .command('cancel <id>')
    .description('cancel a job that waits or runs; what it has produced is charged as if its client had disconnected')
    .option(...jsonFlag)
    .action((id: string, options: { json?: boolean }) => cancelJob(context, id, options));
}

const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function millisecondsOf(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const ms = unitMs[unit ?? ''];
  if (count === undefined || ms === undefined)
    throw new PlatformError('INVALID_REQUEST', '--older-than must be a number and a unit, such as 30s, 10m, 2h or 1d.');
  return Number(count) * ms;
}

function limitOf(text: string): number {
  const limit = Number(text);
  if (/^\d{1,6}$/.test(text) && limit >= 1 && limit <= maxListed) return limit;
  throw new PlatformError('INVALID_REQUEST', `--limit must be a whole number from 1 to ${maxListed}.`);
}

/** `sluice jobs list`. */
async function listJobs(
  context: CliContext,
  { account, json, ...filter }: Omit<JobFilter, 'accountId'> & { account?: string; json?: boolean },
): Promise<void> {
  const accountId = account === undefined ? undefined : (await resolveAccount(context, account)).id;
  const jobs = await (await requireInspection(context)).list({ ...filter, accountId });
  if (json) return context.output.json(jobs);
  if (jobs.length === 0) return context.output.line('no job is like that');
  context.output.table(['REQUEST', 'STATE', 'QUEUE', 'ACCOUNT', 'ADMITTED', 'WAITED', 'RAN', 'CODE'], jobs.map(rowOf));
}

function rowOf(job: ListedJob): string[] {
  const { requestId, state, attempt, modality, modelId, accountId, createdAt, startedAt, finishedAt, errorCode } = job;
  const nowMs = Date.now();
  const until = (startedAt ?? finishedAt)?.getTime() ?? nowMs;
  const ran = startedAt === null ? '–' : seconds((finishedAt?.getTime() ?? nowMs) - startedAt.getTime());
  return [
    requestId,
    attempt === 1 ? state : `${state} (attempt ${attempt})`,
    `${modality}.${modelId}`,
    accountId,
    createdAt.toISOString(),
    seconds(until - createdAt.getTime()),
    ran,
    errorCode ?? '–',
  ];
}

/** The clocks of this machine and of the database may differ. */
function seconds(ms: number): string {
  return `${Math.max(0, ms / 1_000).toFixed(1)} s`;
}
