import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readFile, rm, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ownIdentity } from '#platform/process';
import { type LockOwner, LockObserver, type OwnerState } from './lock-observer.js';

export interface FileLockOptions {
  path: string;
  signal?: AbortSignal;
  /** Called when another process holds the lock, or held it when it was killed, and whenever its state changes. */
  onWait?: (owner: LockOwner, state: OwnerState) => void;
  /** Interval between two renewals of the lock, in ms. Default 2,000. */
  heartbeatMs?: number;
}

/** Locks that this process holds or waits for. */
const ownTokens = new Set<string>();

/**
 * Runs `work` under an exclusive file lock, across processes and hosts that share the folder. The owner renews the
 * file's time. A lock is taken over once its process is known to be dead, or on another host, and was not renewed for
 * a while. Clocks do not matter: the file's time is compared with itself only.
 */
export async function withFileLock<Result>(options: FileLockOptions, work: () => Promise<Result>): Promise<Result> {
  const owner: LockOwner = { ...(await ownIdentity()), host: hostname(), token: randomUUID() };
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
    const current = await readFile(options.path, 'utf8').catch(() => '');
    if (current === JSON.stringify(owner)) await rm(options.path, { force: true });
  }
}

async function acquire(options: FileLockOptions, owner: LockOwner): Promise<void> {
  const heartbeatMs = options.heartbeatMs ?? 2_000;
  const observers = {
    lock: new LockObserver(options.path, heartbeatMs, ownTokens),
    guard: new LockObserver(guardOf(options.path), heartbeatMs, ownTokens),
  };
  await mkdir(dirname(options.path), { recursive: true });
  for (let reported: OwnerState | null = null; !(await tryCreate(options.path, owner));) {
    options.signal?.throwIfAborted();
    const seen = await observers.lock.look();
    if (seen?.isAbandoned) {
      if (await removeAbandoned(options.path, owner, observers)) continue;
    } else if (seen?.owner && seen.state !== reported) {
      reported = seen.state;
      options.onWait?.(seen.owner, seen.state);
    }
    await delay(Math.min(heartbeatMs, 250), undefined, { signal: options.signal });
  }
}

async function tryCreate(path: string, owner: LockOwner): Promise<boolean> {
  let handle: FileHandle;
  try {
    handle = await open(path, 'wx');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
  try {
    await handle.writeFile(JSON.stringify(owner));
    return true;
  } catch (error) {
    // On a full disk, the next try should not wait for a lock without an owner.
    await rm(path, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

/** Lock of the removal of an abandoned lock. */
function guardOf(path: string): string {
  return `${path}.takeover`;
}

/**
 * Removes an abandoned lock; returns false while another waiter does. Serialized, and checked again, because a faster
 * waiter may already hold a new lock.
 */
async function removeAbandoned(
  path: string,
  owner: LockOwner,
  observers: { lock: LockObserver; guard: LockObserver },
): Promise<boolean> {
  if (!(await tryCreate(guardOf(path), owner))) {
    // Its owner was killed within these few milliseconds.
    if ((await observers.guard.look())?.isAbandoned) await rm(guardOf(path), { force: true });
    return false;
  }
  try {
    if ((await observers.lock.look())?.isAbandoned) await rm(path, { force: true });
    return true;
  } finally {
    await rm(guardOf(path), { force: true });
  }
}

async function renew(path: string): Promise<void> {
  const now = new Date();
  // A missing lock was taken over after a long pause of this process; the work fails at its rename.
  await utimes(path, now, now).catch(() => undefined);
}
