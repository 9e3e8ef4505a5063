import 'reflect-metadata';
import { CliConfig, loadConfig } from '#platform/config';
import { surviveLostOutput } from '#platform/logging';
import { CliContext } from './cli-context.js';
import { runCommand } from './run-command.js';

surviveLostOutput();
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => stop.abort(new Error('Stopped. Run the same command again to resume.')));
}

const context = new CliContext(loadConfig(CliConfig), { signal: stop.signal });
process.exitCode = await runCommand(context, process.argv.slice(2));
