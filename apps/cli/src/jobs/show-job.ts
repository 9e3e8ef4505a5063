import { formatNanos } from '#common';
import type { InspectedJob } from '#jobs/inspection';
import type { CliContext } from '../cli-context.js';
import { requireJob } from './require-inspection.js';

/** `sluice jobs show`. */
export async function showJob(context: CliContext, id: string, { json }: { json?: boolean }): Promise<void> {
  const job = await requireJob(context, id);
  if (json) return context.output.json(job);
  const lines: [string, string][] = [
    ['request', job.requestId],
    ...(job.media === null ? [] : ([['queue id', job.media.queueId]] satisfies [string, string][])),
    ['state', job.errorCode === null ? job.state : `${job.state}: ${job.errorCode}`],
    ['queue', `${job.modality}.${job.modelId}`],
    ['account', job.key === null ? job.accountId : `${job.accountId}, key …${job.key}`],
    ['response', responseOf(job)],
    ['attempt', String(job.attempt)],
    ...stagesOf(job),
    ['usage', usageOf(job)],
    ['money', moneyOf(job)],
    ...job.results.map(({ attempt, status, isApplied, processedAt }): [string, string] => [
      `result ${attempt}`,
      `${status}, processed ${processedAt.toISOString()}${isApplied ? '' : ', too late to count'}`,
    ]),
  ];
  for (const [name, text] of lines) context.output.line(`${name.padEnd(10)}${text}`);
}

function responseOf({ media, stream, isAwaited }: InspectedJob): string {
  if (media !== null) return `async, ${media.progressPercent} %`;
  return `${stream ? 'streamed' : 'whole'}${isAwaited ? '' : ', nobody waits for it'}`;
}

/** Each stage with the time since the one before. */
function stagesOf({ createdAt, enqueuedAt, startedAt, finishedAt, deadlineAt }: InspectedJob): [string, string][] {
  const stages = [
    ['admitted', createdAt],
    // The last attempt.
    ['enqueued', enqueuedAt],
    ['started', startedAt],
    ['finished', finishedAt],
  ] as const;
  let before = createdAt;
  const lines = stages.flatMap(([name, at]): [string, string][] => {
    if (at === null) return [];
    const line = `${at.toISOString()}  +${Math.max(0, (at.getTime() - before.getTime()) / 1_000).toFixed(3)} s`;
    before = at;
    return [[name, line]];
  });
  return [...lines, ['deadline', deadlineAt.toISOString()]];
}

function usageOf({ promptTokens, cachedTokens, completionTokens, usageUnits, executionMs }: InspectedJob): string {
  const tokens =
    promptTokens === null
      ? []
      : [`${promptTokens} prompt tokens (${cachedTokens ?? 0} cached)`, `${completionTokens ?? 0} completion tokens`];
  const units = Object.entries((usageUnits ?? {}) as Record<string, number>).map(([name, count]) => `${count} ${name}`);
  const time = executionMs === null ? [] : [`${executionMs} ms on the worker`];
  return [...tokens, ...units, ...time].join(', ') || '–';
}

function moneyOf({ reservation }: InspectedJob): string {
  if (reservation === null) return 'nothing reserved';
  const { state, reservedNano, chargedNano } = reservation;
  const charged = chargedNano === null ? '' : `, charged ${formatNanos(chargedNano, 9)} USD`;
  return `reserved ${formatNanos(reservedNano, 9)} USD (${state})${charged}`;
}
