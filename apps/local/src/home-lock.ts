import { type FileLockOptions, withFileLock } from '#model-store';
import { lockFile } from './home.js';
import type { MergedLog } from './merged-log.js';
import { StartRefusal } from './start-refusal.js';

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
  const onWait: FileLockOptions['onWait'] = ({ pid, host }, whereabouts) => {
    if (whereabouts !== 'goneHere') {
      const where = whereabouts === 'elsewhere' ? `process ${pid} on ${host}` : `process ${pid}`;
      throw new StartRefusal(
        `Sluice already runs on ${home} (${where}). Stop it first, or use another home: SLUICE_HOME=… npm start`,
      );
    }
    log.note(`the last instance on this home was killed (process ${pid}); waiting for its lock to expire`);
  };
  await withFileLock({ path: lockFile(home), onWait, heartbeatMs, signal }, work);
}
