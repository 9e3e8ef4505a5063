import { setTimeout as sleep } from 'node:timers/promises';
import type { Heartbeat } from '#queue';
import { heardWorkers } from '#queue/workers';
import type { CliContext } from '../cli-context.js';

/** Two heartbeats: whoever is not heard by then is gone or cut off. In ms. */
const listenMs = 2_200;

/** Returns the workers on the bus, by id. */
export async function hearWorkers(context: CliContext): Promise<Heartbeat[]> {
  const { membership } = await context.requireQueue();
  await sleep(listenMs, undefined, { signal: context.signal });
  return heardWorkers(membership.list());
}
