import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '#common';
import type { InspectedJob } from '#jobs/inspection';
import type { CliContext } from '../cli-context.js';
import { requireJob } from './require-inspection.js';

/** How long the command waits for the row to be closed, in ms: a worker stops within two steps of its model. */
const closedWithinMs = 15_000;
const lookEveryMs = 200;

const told = 'The operator of this service cancelled the request.';

/** `sluice jobs cancel`: as when a client disconnects, so a job cannot be charged otherwise than then. */
export async function cancelJob(context: CliContext, id: string, { json }: { json?: boolean }): Promise<void> {
  const job = await requireJob(context, id);
  const { requestId } = job;
  if (!isOpen(job)) throw new PlatformError('INVALID_REQUEST', `The job ${requestId} is over: it is ${job.state}.`);
  const { directModality } = await import('#queue');
  if (job.modality === directModality) {
    throw new PlatformError('INVALID_REQUEST', `An api replica runs ${requestId} itself; it ends within seconds.`);
  }
  const [prisma, secretKey] = [await context.requireDatabase(), await context.requireSecretKey()];
  const [{ JobsRepository, JobsService, ResultTickets }, { createLogger }] = await Promise.all([
    import('#jobs'),
    import('#platform/logging'),
  ]);
  const transport = await context.requireQueue();
  // Warnings of the service concern a process that stays.
  const logger = createLogger('cli', { level: 'silent' });
  const tickets = new ResultTickets(secretKey);
  const service = new JobsService(new JobsRepository(prisma), tickets, transport, logger);
  await service.cancel(requestId, told);
  await service.close();
  const end = await untilClosed(context, requestId);
  if (json) return context.output.json(end);
  const state = isOpen(end) ? `told to stop, and still ${end.state}` : end.state;
  context.output.line(`${requestId}: ${state}`);
  context.next(`sluice jobs show ${requestId}`);
}

async function untilClosed(context: CliContext, requestId: string): Promise<InspectedJob> {
  const deadline = performance.now() + closedWithinMs;
  for (;;) {
    const job = await requireJob(context, requestId);
    if (!isOpen(job) || performance.now() > deadline || context.signal.aborted) return job;
    await sleep(lookEveryMs, undefined, { signal: context.signal }).catch(() => undefined);
  }
}

function isOpen({ state }: InspectedJob): boolean {
  return state === 'queued' || state === 'running';
}
