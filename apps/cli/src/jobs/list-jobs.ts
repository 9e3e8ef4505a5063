import type { JobFilter, ListedJob } from '#jobs/inspection';
import { resolveAccount } from '../accounts/resolve-account.js';
import type { CliContext } from '../cli-context.js';
import { requireInspection } from './require-inspection.js';

/** `sluice jobs list`. */
export async function listJobs(
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
