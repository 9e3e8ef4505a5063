import { CommanderError } from 'commander';
import { PlatformError } from '#common';

/** Tells on stderr (or as JSON on stdout) why a command failed; answers the exit code. */
export function reportFailure(error: unknown, asJson: boolean): number {
  // Commander has told its own errors, and its help and version are none.
  if (error instanceof CommanderError) return error.exitCode;
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof PlatformError ? error.code : 'UNKNOWN_ERROR';
  if (asJson) process.stdout.write(`${JSON.stringify({ error: { code, message } })}\n`);
  process.stderr.write(`sluice: ${message}\n`);
  return 1;
}
