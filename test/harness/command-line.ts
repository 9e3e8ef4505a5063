import { Writable } from 'node:stream';
import { CliConfig, type Environment, parseConfig } from '#platform/config';
import { CliContext } from '../../apps/cli/src/cli-context.js';
import { createProgram } from '../../apps/cli/src/program.js';

/**
 * Runs one `sluice` command line in this process with only the given environment; returns its stdout. Rejects like the
 * command.
 */
export async function runCommandLine(line: readonly string[], environment: Environment): Promise<string> {
  const written: string[] = [];
  const sink = (take: (text: string) => void) =>
    new Writable({ write: (chunk: Buffer, _encoding, done) => (take(chunk.toString()), done()) });
  const context = new CliContext(parseConfig(CliConfig, environment), {
    stdout: sink((text) => written.push(text)),
    stderr: sink(() => undefined) as unknown as NodeJS.WriteStream,
  });
  try {
    await createProgram(context).parseAsync(line, { from: 'user' });
  } finally {
    await context.close();
  }
  return written.join('');
}
