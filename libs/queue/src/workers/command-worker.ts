import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '#common';
import type { Heartbeat } from '../contract/heartbeat.js';
import type { QueueTransport } from '../contract/transport.js';
import type { WorkerCommand } from '../contract/worker-control.js';

/** How long a worker may take to confirm a command by its heartbeat, in ms. */
const confirmedWithinMs = 10_000;
const lookEveryMs = 100;

type WorkerBus = Pick<QueueTransport, 'membership' | 'workerControl'>;

/** Returns a worker as it was last heard. Rejects with `NOT_FOUND` if it is not there. */
export function currentWorker({ membership }: Pick<WorkerBus, 'membership'>, id: string): Heartbeat {
  const worker = membership.list().find(({ role, processId }) => role === 'worker' && processId === id);
  if (worker !== undefined) return worker;
  throw new PlatformError('NOT_FOUND', `No worker ${id} is heard on the bus. See: sluice workers list`, 'id');
}

/**
 * Tells a worker to take no more jobs, or to take them again, and waits for the heartbeat that shows it. Rejects with
 * `NOT_FOUND` for an unknown worker, and with `SERVICE_UNAVAILABLE` for one that does not follow.
 */
export async function commandWorker(
  bus: WorkerBus,
  { processId, action }: WorkerCommand,
  signal?: AbortSignal,
): Promise<Heartbeat> {
  currentWorker(bus, processId);
  await bus.workerControl.send({ processId, action });
  const follows = (worker: Heartbeat) => (worker.worker?.isDrained ?? false) === (action === 'drain');
  const confirmed = await untilWorker(bus, { id: processId, isReached: follows, withinMs: confirmedWithinMs }, signal);
  if (follows(confirmed)) return confirmed;
  const message = `The worker ${processId} does not follow: its version may be older, or its SLUICE_QUEUE_KEY another one.`;
  throw new PlatformError('SERVICE_UNAVAILABLE', message);
}

export interface AwaitedWorker {
  id: string;
  isReached: (worker: Heartbeat) => boolean;
  withinMs: number;
}

/** Returns a worker as soon as its heartbeat shows a state, or as it is when the time is over. */
export async function untilWorker(
  bus: Pick<WorkerBus, 'membership'>,
  { id, isReached, withinMs }: AwaitedWorker,
  signal?: AbortSignal,
): Promise<Heartbeat> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const worker = currentWorker(bus, id);
    if (isReached(worker) || performance.now() > deadline) return worker;
    await sleep(lookEveryMs, undefined, signal === undefined ? {} : { signal });
  }
}
