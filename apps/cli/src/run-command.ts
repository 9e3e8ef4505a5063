import type { CliContext } from './cli-context.js';
import { createProgram } from './program.js';
import { reportFailure } from './report-failure.js';

/** Runs one command line, reports its failure, closes what it opened and returns the exit code. */
export async function runCommand(context: CliContext, line: readonly string[]): Promise<number> {
  try {
    await createProgram(context).parseAsync(line, { from: 'user' });
    return 0;
  } catch (error) {
    // JSON output is a single document: a document that the command printed also describes the failure.
    return reportFailure(error, line.includes('--json') && !context.output.hasDocument);
  } finally {
    await context.close();
  }
}
