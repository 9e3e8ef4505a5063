import { CommanderError } from 'commander';
import { PlatformError } from '#common';
import { errorText } from '#common/values';
import { connectionFailure } from '#platform/logging';

/** Reports on stderr (or as JSON on stdout) why a command failed and returns the exit code. */
export function reportFailure(given: unknown, asJson: boolean): number {
  // Commander prints its own errors; help and version are not errors.
  if (given instanceof CommanderError) return given.exitCode;
  const error = connectionFailure(given) ?? given;
  const message = errorText(error);
  const { code, reason } = error instanceof PlatformError ? error : { code: 'UNKNOWN_ERROR', reason: undefined };
  if (asJson) process.stdout.write(`${JSON.stringify({ error: { code, message, reason } })}\n`);
  process.stderr.write(`sluice: ${message}${reason === undefined ? '' : ` Reason: ${reason}`}\n`);
  return 1;
}
