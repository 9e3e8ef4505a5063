import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '#common';
import type { Heartbeat } from '#queue';
import type { CliContext } from '../cli-context.js';

/** Two heartbeats: whoever is not heard by then is gone or cut off. In ms. */
const listenMs = 2_200;

/** Returns the workers on the bus, by id. */
export async function hearWorkers(context: CliContext): Promise<Heartbeat[]> {
  const { membership } = await context.requireQueue();
  await sleep(listenMs, undefined, { signal: context.signal });
  return membership
    .list()
    .filter(({ role }) => role === 'worker')
    .toSorted((left, right) => left.processId.localeCompare(right.processId));
}

/** The same for one worker, as it was last heard. Rejects with `NOT_FOUND` if it is not there. */
export async function currentWorker(context: CliContext, id: string): Promise<Heartbeat> {
  const { membership } = await context.requireQueue();
  const worker = membership.list().find(({ role, processId }) => role === 'worker' && processId === id);
  if (worker !== undefined) return worker;
  throw new PlatformError('NOT_FOUND', `No worker ${id} is heard on the bus. See: sluice workers list`);
}

/** Jobs that a worker runs now. */
export function runningJobs({ models }: Heartbeat): number {
  return models.reduce((sum, { running }) => sum + running, 0);
}
