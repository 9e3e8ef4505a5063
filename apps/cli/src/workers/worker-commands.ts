import type { Command } from 'commander';
import { commandWorker as command, runningJobs, untilWorker } from '#queue/workers';
import type { CliContext } from '../cli-context.js';
import { listWorkers } from './list-workers.js';
import { hearWorkers } from './heard-workers.js';

const jsonFlag = ['--json', 'print one JSON document to stdout'] as const;

/** `sluice workers …` */
export function addWorkerCommands(program: Command, context: CliContext): void {
  const workers = program.command('workers').description('running workers').helpCommand(false);
  workers
    .command('list')
    .description('list the workers that are heard on the bus, their machines and models')
    .option(...jsonFlag)
    .action((options: { json?: boolean }) => listWorkers(context, options));
  workers
    .command('drain <id>')
    .description('let a worker take no more jobs; it finishes its own and stays idle until it is resumed or restarted')
    .option('--wait', 'wait until it runs no job')
    .option(...jsonFlag)
    .action((id: string, options: { wait?: boolean; json?: boolean }) => commandWorker(context, id, 'drain', options));
  workers
    .command('resume <id>')
    .description('let a drained worker take jobs again')
    .option(...jsonFlag)
    .action((id: string, options: { json?: boolean }) => commandWorker(context, id, 'resume', options));
}

/** `sluice workers drain` and `sluice workers resume`. */
async function commandWorker(
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
