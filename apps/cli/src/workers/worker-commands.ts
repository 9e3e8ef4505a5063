import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { commandWorker } from './command-worker.js';
import { listWorkers } from './list-workers.js';

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
