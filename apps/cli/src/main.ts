import 'reflect-metadata';
import { CliConfig, loadConfig } from '#platform/config';
import { CliContext } from './cli-context.js';
import { createProgram } from './program.js';
import { reportFailure } from './report-failure.js';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => stop.abort(new Error('Stopped. The same command goes on where this one was.')));
}

const context = new CliContext(loadConfig(CliConfig), { signal: stop.signal });
try {
  await createProgram(context).parseAsync(process.argv);
} catch (error) {
  process.exitCode = reportFailure(error, process.argv.includes('--json'));
} finally {
  await context.close();
}
