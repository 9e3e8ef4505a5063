import { hostname } from 'node:os';
import { lockFile } from '#platform/home';
import { startCommand, StartRefusal } from '#platform/process';
import { type FileLockOptions, withFileLock } from '#model-store';
import type { MergedLog } from './merged-log.js';

/**
 * How often the lock is renewed, in ms. A killed process leaves its lock, which is taken over when it is not renewed.
 */
const heartbeatMs = 500;

/** Runs `work` with an exclusive lock on this home. Rejects with a `StartRefusal` when another instance runs. */
export async function withHome(
  home: string,
  log: MergedLog,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const onWait: FileLockOptions['onWait'] = ({ pid, host }, state) => {
    const owner = host === hostname() ? `process ${pid}` : `process ${pid} on ${host}`;
    if (state === 'running') {
      throw new StartRefusal(
        `Sluice already runs on ${home} (${owner}). Stop it first, or use another home: SLUICE_HOME=… ${startCommand}`,
      );
    }
    if (state === 'gone') log.note(`the last instance on this home was killed (${owner}); taking over its lock`);
    else log.note(`the last instance on this home was ${owner}; waiting for a sign of life, or for its lock to expire`);
  };
  await withFileLock({ path: lockFile(home), onWait, heartbeatMs, signal }, work);
}
