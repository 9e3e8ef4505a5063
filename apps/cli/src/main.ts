import 'reflect-metadata';
import { CliConfig, loadConfig } from '#platform/config';
import { surviveLostOutput } from '#platform/logging';

surviveLostOutput();
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => stop.abort(new Error('Stopped. Run the same command again to resume.')));
}

const config = loadConfig(CliConfig);
// Imported late: the environment is checked, and rid of what breaks libraries, before anything else loads.
const { CliContext } = await import('./cli-context.js');
const { runCommand } = await import('./run-command.js');
process.exitCode = await runCommand(new CliContext(config, { signal: stop.signal }), process.argv.slice(2));
