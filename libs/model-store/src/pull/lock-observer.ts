import { type FileHandle, open } from 'node:fs/promises';
import { hostname } from 'node:os';
import { type Clock, systemClock } from '#common';
import { isMissingFile } from '#platform/files';
import { processState, type ProcessState } from '#platform/process';

/** Content of a lock file. */
export interface LockOwner {
  pid: number;
  /** As in `ProcessIdentity`. */
  started?: string;
  host: string;
  token: string;
}

/**
 * `running`: its process runs on this host, or it renewed the lock while this process looked. `gone`: its process has
 * ended. `unknown`: it may be on another host, or another process may have its id.
 */
export type OwnerState = 'running' | 'gone' | 'unknown';

/** A lock at one look. */
export interface SeenLock {
  /** Null while the lock is being written. */
  owner: LockOwner | null;
  state: OwnerState;
  isAbandoned: boolean;
}

/**
 * Number of missed renewals after which a lock counts as abandoned. A process that does not exist here may live in
 * another container of the same host name. One whose id exists may be busy, or have ended long ago.
 */
const maxMissedRenewals = { gone: 3, elsewhere: 8, unsure: 300, running: Infinity };

/**
 * Looks at a lock of another process repeatedly. The age of the file says nothing, because clocks differ between hosts
 * and jump; how long it has not changed while this process looked does.
 */
export class LockObserver {
  private version = '';
  private token: string | undefined;
  private unchangedSinceMs = 0;
  private wasRenewed = false;

  constructor(
    private readonly path: string,
    private readonly heartbeatMs: number,
    private readonly ownTokens: ReadonlySet<string>,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Returns null when there is no lock. */
  async look(): Promise<SeenLock | null> {
    const file = await readLock(this.path);
    if (file === null) return null;
    const { owner, version } = file;
    const nowMs = this.clock.monotonicMs();
    if (version !== this.version) {
      this.wasRenewed = owner !== null && owner.token === this.token;
      this.version = version;
      this.token = owner?.token;
      this.unchangedSinceMs = nowMs;
    }
    const found = await this.find(owner);
    const isAbandoned = nowMs - this.unchangedSinceMs > maxMissedRenewals[found] * this.heartbeatMs;
    const known = found === 'elsewhere' || found === 'unsure' ? 'unknown' : found;
    return { owner, state: this.wasRenewed && !isAbandoned ? 'running' : known, isAbandoned };
  }

  private async find(owner: LockOwner | null): Promise<ProcessState | 'elsewhere'> {
    if (owner?.host !== hostname()) return 'elsewhere';
    // A restarted container has the same host name and reuses process ids: this is the killed process's lock.
    if (owner.pid === process.pid) return this.ownTokens.has(owner.token) ? 'running' : 'gone';
    return processState(owner);
  }
}

async function readLock(path: string): Promise<{ owner: LockOwner | null; version: string } | null> {
  let file: FileHandle;
  try {
    // Opening a file of a network makes its client ask for the current time of it.
    file = await open(path, 'r');
  } catch (error) {
    if (isMissingFile(error)) return null;
    throw error;
  }
  try {
    const [text, { ino, mtimeMs }] = [await file.readFile('utf8'), await file.stat()];
    return { owner: parseOwner(text), version: `${ino} ${mtimeMs} ${text}` };
  } finally {
    await file.close();
  }
}

/** Returns null for a lock that is not written yet: nothing is known about its owner. */
function parseOwner(text: string): LockOwner | null {
  try {
    const owner: unknown = JSON.parse(text);
    return typeof owner === 'object' ? (owner as LockOwner | null) : null;
  } catch {
    return null;
  }
}
