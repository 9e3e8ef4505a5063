import { CommanderError } from 'commander';
import { PlatformError } from '#common';
import { errorText } from '#common/values';
import { connectionFailure } from '#platform/logging';

/** Reports on stderr (or as JSON on stdout) why a command failed and returns the exit code. */
export function reportFailure(thrown: unknown, asJson: boolean): number {
  // Commander prints its own errors; help and version are not errors.
  if (thrown instanceof CommanderError) return thrown.exitCode;
  const error = connectionFailure(thrown) ?? thrown;
  const message = errorText(error);
  const { code, reason } = error instanceof PlatformError ? error : { code: 'UNKNOWN_ERROR', reason: undefined };
  if (asJson) process.stdout.write(`${JSON.stringify({ error: { code, message, reason } })}\n`);
  process.stderr.write(`sluice: ${message}${reason === undefined ? '' : ` Reason: ${reason}`}\n`);
  return 1;
}
