import type { ChildProcess } from 'node:child_process';

/**
 * Sends a signal and waits for the end of a process. Resolves with its exit code; null where the signal ended it, or where
 * it was gone before.
 */
export async function endProcess(
  child: ChildProcess | null | undefined,
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<number | null> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return null;
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  child.kill(signal);
  return await ended;
}
