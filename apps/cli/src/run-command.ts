import type { CliContext } from './cli-context.js';
import { createProgram } from './program.js';
import { reportFailure } from './report-failure.js';

/** Runs one line of the command line, tells why where it fails, and closes what it opened. Answers the exit code. */
export async function runCommand(context: CliContext, line: readonly string[]): Promise<number> {
  try {
    await createProgram(context).parseAsync(line, { from: 'user' });
    return 0;
  } catch (error) {
    // Who reads JSON reads one document: where the command gave its own, that one says what failed.
    return reportFailure(error, line.includes('--json') && !context.output.hasDocument);
  } finally {
    await context.close();
  }
}
