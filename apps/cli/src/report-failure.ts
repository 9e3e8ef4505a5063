import { CommanderError } from 'commander';
import { PlatformError } from '#common';

/** Reports on stderr (or as JSON on stdout) why a command failed and returns the exit code. */
export function reportFailure(error: unknown, asJson: boolean): number {
  // Commander prints its own errors; help and version are not errors.
  if (error instanceof CommanderError) return error.exitCode;
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof PlatformError ? error.code : 'UNKNOWN_ERROR';
  if (asJson) process.stdout.write(`${JSON.stringify({ error: { code, message } })}\n`);
  process.stderr.write(`sluice: ${message}\n`);
  return 1;
}
