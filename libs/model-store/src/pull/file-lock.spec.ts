import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { processStart } from '#platform/process';
import { withFileLock } from './file-lock.js';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-lock-'));
  path = join(folder, 'model.lock');
});

afterEach(() => rm(folder, { recursive: true }));

/** No process has this id: it is above every system's maximum. */
const deadPid = 2 ** 30;

/** The parent of this process, which runs. */
const parent = async () => ({ pid: process.ppid, started: (await processStart(process.ppid)) ?? '', host: hostname() });

const inAnHour = new Date(Date.now() + 3_600_000);
const anHourAgo = new Date(Date.now() - 3_600_000);

/** Moves the time of the lock on, as its owner does, until the signal aborts. */
async function keepRenewing(signal: AbortSignal): Promise<void> {
  for (let time = 1; !signal.aborted; time++) {
    await utimes(path, time, time);
    await sleep(2);
  }
}

describe('withFileLock', () => {
  it('admits one at a time', async () => {
    let inside = 0;
    let max = 0;
    const visit = () =>
      withFileLock({ path, heartbeatMs: 5 }, async () => {
        max = Math.max(max, ++inside);
        await new Promise((resolve) => setTimeout(resolve, 5));
        inside--;
      });
    await Promise.all(Array.from({ length: 8 }, visit));
    expect(max).toBe(1);
    expect(existsSync(path)).toBe(false);
  });

  it('is released after a failure', async () => {
    await expect(withFileLock({ path }, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(existsSync(path)).toBe(false);
  });

  it('takes over from a process that died', async () => {
    await writeFile(path, JSON.stringify({ pid: deadPid, host: hostname(), token: 'old' }));
    expect(await withFileLock({ path, heartbeatMs: 5 }, () => Promise.resolve('mine'))).toBe('mine');
  });

  it.each([
    ['in the future', inAnHour],
    ['in the past', anHourAgo],
  ])('takes over from a dead process whose lock is dated %s', async (_when, date) => {
    await writeFile(path, JSON.stringify({ pid: deadPid, host: hostname(), token: 'old' }));
    await utimes(path, date, date);
    expect(await withFileLock({ path, heartbeatMs: 5 }, () => Promise.resolve('mine'))).toBe('mine');
  });

  it.each([
    ['in the future', inAnHour],
    ['in the past', anHourAgo],
  ])('takes over from another host that stopped renewing a lock dated %s', async (_when, date) => {
    await writeFile(path, JSON.stringify({ pid: process.pid, host: 'elsewhere', token: 'old' }));
    await utimes(path, date, date);
    expect(await withFileLock({ path, heartbeatMs: 5 }, () => Promise.resolve('mine'))).toBe('mine');
  });

  it.each([
    ['another host', { pid: deadPid, host: 'elsewhere', token: 'renewed' }],
    ['another container of the same host name', { pid: deadPid, host: hostname(), token: 'renewed' }],
  ])('leaves a lock to a process of %s that renews it, whatever its clock says', async (_where, owner) => {
    await writeFile(path, JSON.stringify(owner));
    const states: string[] = [];
    const signal = AbortSignal.timeout(500);
    const onWait = (_owner: unknown, state: string) => void states.push(state);
    const waiting = withFileLock({ path, heartbeatMs: 20, signal, onWait }, () => Promise.resolve());
    await Promise.all([expect(waiting).rejects.toThrow(), keepRenewing(signal)]);
    expect(states.at(-1)).toBe('running');
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(owner);
  });

  it('takes over from a process whose id another process has now', async () => {
    await writeFile(path, JSON.stringify({ ...(await parent()), started: 'before', token: 'old' }));
    expect(await withFileLock({ path, heartbeatMs: 5 }, () => Promise.resolve('mine'))).toBe('mine');
  });

  it('keeps the lock of a living process that is too busy to renew it', async () => {
    await writeFile(path, JSON.stringify({ ...(await parent()), token: 'busy' }));
    await utimes(path, anHourAgo, anHourAgo);
    const signal = AbortSignal.timeout(500);
    await expect(withFileLock({ path, heartbeatMs: 1, signal }, () => Promise.resolve())).rejects.toThrow();
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ token: 'busy' });
  });

  it('takes over from a killed process with its own id, as in a restarted container', async () => {
    await writeFile(path, JSON.stringify({ pid: process.pid, host: hostname(), token: 'killed' }));
    const signal = AbortSignal.timeout(5_000);
    expect(await withFileLock({ path, heartbeatMs: 5, signal }, () => Promise.resolve('mine'))).toBe('mine');
  });

  it('keeps a lock that this process holds and is too busy to renew', async () => {
    await withFileLock({ path }, async () => {
      await utimes(path, anHourAgo, anHourAgo);
      const signal = AbortSignal.timeout(50);
      await expect(withFileLock({ path, heartbeatMs: 1, signal }, () => Promise.resolve())).rejects.toThrow();
    });
  });

  it('leaves an abandoned lock to the waiter that is taking it over, unless that one was killed', async () => {
    await writeFile(path, JSON.stringify({ pid: deadPid, host: hostname(), token: 'old' }));
    await writeFile(`${path}.takeover`, JSON.stringify({ ...(await parent()), token: 'other' }));
    const signal = AbortSignal.timeout(200);
    await expect(withFileLock({ path, heartbeatMs: 1, signal }, () => Promise.resolve())).rejects.toThrow();
    await writeFile(`${path}.takeover`, JSON.stringify({ pid: deadPid, host: hostname(), token: 'other' }));
    expect(await withFileLock({ path, heartbeatMs: 5 }, () => Promise.resolve('mine'))).toBe('mine');
    expect(existsSync(`${path}.takeover`)).toBe(false);
  });

  it('lets exactly one of many waiters take over an abandoned lock at a time', async () => {
    await writeFile(path, JSON.stringify({ pid: deadPid, host: hostname(), token: 'old' }));
    let inside = 0;
    const visit = () =>
      withFileLock({ path, heartbeatMs: 5 }, async () => {
        expect(++inside).toBe(1);
        await new Promise((resolve) => setTimeout(resolve, 2));
        inside--;
      });
    await Promise.all(Array.from({ length: 8 }, visit));
  });

  it('waits for a living owner, reports it, and can be aborted', async () => {
    const otherOwner = { pid: process.pid, host: hostname(), token: 'other' };
    await writeFile(path, JSON.stringify(otherOwner));
    const stop = new AbortController();
    const waiting = withFileLock(
      { path, signal: stop.signal, onWait: (owner) => stop.abort(new Error(`waited for ${owner.token}`)) },
      () => Promise.resolve(),
    );
    await expect(waiting).rejects.toThrow();
    expect(stop.signal.reason).toMatchObject({ message: 'waited for other' });
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(otherOwner);
  });
});
