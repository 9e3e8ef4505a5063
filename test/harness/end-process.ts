import type { ChildProcess } from 'node:child_process';

/**
 * Sends a signal and waits for the process to exit. Resolves to its exit code, or null if a signal ended it or it was
 * already gone.
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
