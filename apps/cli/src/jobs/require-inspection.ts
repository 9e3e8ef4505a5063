import { PlatformError } from '#common';
import type { InspectedJob, JobInspectionRepository } from '#jobs/inspection';
import type { CliContext } from '../cli-context.js';

export async function requireInspection(context: CliContext): Promise<JobInspectionRepository> {
  const prisma = await context.requireDatabase();
  const { JobInspectionRepository } = await import('#jobs/inspection');
  return new JobInspectionRepository(prisma);
}

/** Rejects with `NOT_FOUND` for an unknown id. */
export async function requireJob(context: CliContext, id: string): Promise<InspectedJob> {
  const job = await (await requireInspection(context)).find(id);
  if (job !== null) return job;
  const message = `There is no job ${id}. Refused requests have none: look for the id in the log of the api.`;
  throw new PlatformError('NOT_FOUND', message);
}
