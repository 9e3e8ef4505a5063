import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '#common';
import type { Heartbeat } from '#queue';
import type { CliContext } from '../cli-context.js';
import { currentWorker, hearWorkers, runningJobs } from './heard-workers.js';

/** How long a worker may take to confirm a command by its heartbeat, in ms. */
const confirmedWithinMs = 10_000;
const lookEveryMs = 100;

/** `sluice workers drain` and `sluice workers resume`. */
export async function commandWorker(
  context: CliContext,
  id: string,
  action: 'drain' | 'resume',
  { wait = false, json }: { wait?: boolean; json?: boolean },
): Promise<void> {
  await hearWorkers(context);
  await currentWorker(context, id);
  const { workerControl } = await context.requireQueue();
  await workerControl.send({ processId: id, action });
  const isDrained = action === 'drain';
  const follows = (worker: Heartbeat) => (worker.worker?.isDrained ?? false) === isDrained;
  const confirmed = await untilWorker(context, id, follows, confirmedWithinMs);
  if (!follows(confirmed)) {
    const message = `The worker ${id} does not follow: its version may be older, or its SLUICE_QUEUE_KEY another one.`;
    throw new PlatformError('SERVICE_UNAVAILABLE', message);
  }
  const worker = wait ? await untilWorker(context, id, (each) => runningJobs(each) === 0, Infinity) : confirmed;
  const running = runningJobs(worker);
  if (json) return context.output.json({ id, isDrained, running });
  context.output.line(`${id}: ${isDrained ? `takes no more jobs, runs ${running}` : 'takes jobs again'}`);
  if (isDrained) context.next(`sluice workers resume ${id}`);
}

async function untilWorker(
  context: CliContext,
  id: string,
  isReached: (worker: Heartbeat) => boolean,
  withinMs: number,
): Promise<Heartbeat> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const worker = await currentWorker(context, id);
    if (isReached(worker) || performance.now() > deadline) return worker;
    await sleep(lookEveryMs, undefined, { signal: context.signal });
  }
}
