import { commandWorker as command, runningJobs, untilWorker } from '#queue/workers';
import type { CliContext } from '../cli-context.js';
import { hearWorkers } from './heard-workers.js';

/** `sluice workers drain` and `sluice workers resume`. */
export async function commandWorker(
  context: CliContext,
  id: string,
  action: 'drain' | 'resume',
  { wait = false, json }: { wait?: boolean; json?: boolean },
): Promise<void> {
  await hearWorkers(context);
  const transport = await context.requireQueue();
  const confirmed = await command(transport, { processId: id, action }, context.signal);
  const idle = { id, isReached: (heard: typeof confirmed) => runningJobs(heard) === 0, withinMs: Infinity };
  const worker = wait ? await untilWorker(transport, idle, context.signal) : confirmed;
  const running = runningJobs(worker);
  const isDrained = action === 'drain';
  if (json) return context.output.json({ id, isDrained, running });
  context.output.line(`${id}: ${isDrained ? `takes no more jobs, runs ${running}` : 'takes jobs again'}`);
  if (isDrained) context.next(`sluice workers resume ${id}`);
}
