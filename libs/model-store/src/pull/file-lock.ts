import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isProcessAlive } from '#common';

export interface FileLockOptions {
  path: string;
  signal?: AbortSignal;
  /** Called once when somebody else holds the lock, or did when it was killed. */
  onWait?: (owner: LockOwner, whereabouts: Whereabouts) => void;
  /** Between two renewals of the lock. Default 2,000. */
  heartbeatMs?: number;
}

/**
 * How many renewals a lock may miss before it counts as abandoned. A process that is gone from here may live in
 * another container of the same host name; one that lives may be busy, or have the number of one that died.
 */
const missedHeartbeats: Record<Whereabouts, number> = { goneHere: 3, elsewhere: 8, aliveHere: 300 };

/** A removal of an abandoned lock that takes longer than this was itself abandoned, in ms. */
const guardMs = 10_000;

/** Where the process of a lock is: here and alive, no longer here, or on a host that cannot be asked. */
export type Whereabouts = 'aliveHere' | 'goneHere' | 'elsewhere';

/** Locks that this process holds or waits for. */
const ownTokens = new Set<string>();

/** Contents of a lock file. */
export interface LockOwner {
  pid: number;
  host: string;
  token: string;
}

/**
 * Runs `work` while this process alone holds the lock file, across processes and hosts that share the folder. The
 * holder renews the file's time; a lock whose process is gone, or that was not renewed, is taken over.
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
  for (let told = false; !(await tryCreate(options.path, owner));) {
    options.signal?.throwIfAborted();
    const replica = await readOwner(options.path);
    if (await isAbandoned(options, replica)) {
      if (await takeAway(options)) continue;
    } else if (!told && replica) {
      told = true;
      options.onWait?.(replica, whereabouts(replica));
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

/** Null for a lock that is gone, or that its owner is just writing. */
async function readOwner(path: string): Promise<LockOwner | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as LockOwner;
  } catch {
    // Gone, or not written yet: both mean that nothing can be said about its owner.
    return null;
  }
}

async function isAbandoned(options: FileLockOptions, replica: LockOwner | null): Promise<boolean> {
  const age = await ageMs(options.path);
  if (age === null) return false;
  return age > missedHeartbeats[whereabouts(replica)] * (options.heartbeatMs ?? 2_000);
}

function whereabouts(replica: LockOwner | null): Whereabouts {
  if (replica?.host !== hostname()) return 'elsewhere';
  // A container that is started again has the same name and hands out the same numbers: this is the killed one's lock.
  if (replica.pid === process.pid) return ownTokens.has(replica.token) ? 'aliveHere' : 'goneHere';
  return isProcessAlive(replica.pid) ? 'aliveHere' : 'goneHere';
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
 * Removes an abandoned lock; false while another waiter does. One at a time, and after a second look: what stands there
 * now may be the lock of somebody who was faster.
 */
async function takeAway(options: FileLockOptions): Promise<boolean> {
  const guard = `${options.path}.takeover`;
  if (!(await tryCreate(guard))) {
    const age = await ageMs(guard);
    // Its owner was killed within the few milliseconds that it takes.
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
  // A lock that vanished was taken over after a long pause of this process; the work notices at its rename.
  await utimes(path, now, now).catch(() => undefined);
}
