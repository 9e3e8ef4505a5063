import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isProcessAlive } from '#common';

export interface FileLockOptions {
  path: string;
  signal?: AbortSignal;
  /** Called once if another process holds the lock, or held it when it was killed. */
  onWait?: (owner: LockOwner, ownerState: OwnerState) => void;
  /** Interval between two renewals of the lock, in ms. Default 2,000. */
  heartbeatMs?: number;
}

/**
 * Number of missed renewals after which a lock counts as abandoned. A process that does not exist here may live in
 * another container of the same host name. One that exists may be busy, or have the id of one that died.
 */
const maxMissedRenewals: Record<OwnerState, number> = { goneHere: 3, elsewhere: 8, aliveHere: 300 };

/** Time in ms after which the removal of an abandoned lock counts as abandoned itself. */
const guardMs = 10_000;

/** State of a lock's process: alive on this host, dead, or on a host that cannot be queried. */
export type OwnerState = 'aliveHere' | 'goneHere' | 'elsewhere';

/** Locks that this process holds or waits for. */
const ownTokens = new Set<string>();

/** Content of a lock file. */
export interface LockOwner {
  pid: number;
  host: string;
  token: string;
}

/**
 * Runs `work` under an exclusive file lock, across processes and hosts that share the folder. The owner renews the
 * file's time. A lock whose process is dead, or that was not renewed, is taken over.
 */
export async function withFileLock<Result>(options: FileLockOptions, work: () => Promise<Result>): Promise<Result> {
  const owner: LockOwner = { pid: process.pid, host: hostname(), token: randomUUID() };
  ownTokens.add(owner.token);
  try {
    await acquire(options, owner);
    return await workAndRelease(options, owner, work);
  } finally {
    ownTokens.delete(owner.token);
  }
}

async function workAndRelease<Result>(
  options: FileLockOptions,
  owner: LockOwner,
  work: () => Promise<Result>,
): Promise<Result> {
  const heartbeat = setInterval(() => void renew(options.path), options.heartbeatMs ?? 2_000);
  heartbeat.unref();
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    const current = await readOwner(options.path);
    if (current?.token === owner.token) await rm(options.path, { force: true });
  }
}

async function acquire(options: FileLockOptions, owner: LockOwner): Promise<void> {
  await mkdir(dirname(options.path), { recursive: true });
  for (let reported = false; !(await tryCreate(options.path, owner));) {
    options.signal?.throwIfAborted();
    const lockOwner = await readOwner(options.path);
    if (await isAbandoned(options, lockOwner)) {
      if (await removeAbandoned(options)) continue;
    } else if (!reported && lockOwner) {
      reported = true;
      options.onWait?.(lockOwner, ownerState(lockOwner));
    }
    await delay(Math.min(options.heartbeatMs ?? 2_000, 250), undefined, { signal: options.signal });
  }
}

async function tryCreate(path: string, owner?: LockOwner): Promise<boolean> {
  try {
    const handle = await open(path, 'wx');
    if (owner) await handle.writeFile(JSON.stringify(owner));
    await handle.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Returns null for a lock that no longer exists or is just being written. */
async function readOwner(path: string): Promise<LockOwner | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as LockOwner;
  } catch {
    // Deleted, or not written yet: nothing is known about its owner.
    return null;
  }
}

async function isAbandoned(options: FileLockOptions, lockOwner: LockOwner | null): Promise<boolean> {
  const age = await ageMs(options.path);
  if (age === null) return false;
  return age > maxMissedRenewals[ownerState(lockOwner)] * (options.heartbeatMs ?? 2_000);
}

function ownerState(lockOwner: LockOwner | null): OwnerState {
  if (lockOwner?.host !== hostname()) return 'elsewhere';
  // A restarted container has the same host name and reuses process ids: this is the killed process's lock.
  if (lockOwner.pid === process.pid) return ownTokens.has(lockOwner.token) ? 'aliveHere' : 'goneHere';
  return isProcessAlive(lockOwner.pid) ? 'aliveHere' : 'goneHere';
}

async function ageMs(path: string): Promise<number | null> {
  try {
    return Date.now() - (await stat(path)).mtimeMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Removes an abandoned lock; returns false while another waiter does. Serialized, and checked again, because a faster
 * waiter may already hold a new lock.
 */
async function removeAbandoned(options: FileLockOptions): Promise<boolean> {
  const guard = `${options.path}.takeover`;
  if (!(await tryCreate(guard))) {
    const age = await ageMs(guard);
    // Its owner was killed within these few milliseconds.
    if (age !== null && age > guardMs) await rm(guard, { force: true });
    return false;
  }
  try {
    if (await isAbandoned(options, await readOwner(options.path))) await rm(options.path, { force: true });
    return true;
  } finally {
    await rm(guard, { force: true });
  }
}

async function renew(path: string): Promise<void> {
  const now = new Date();
  // A missing lock was taken over after a long pause of this process; the work fails at its rename.
  await utimes(path, now, now).catch(() => undefined);
}
