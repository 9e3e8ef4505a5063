import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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

  it('takes over from another host that stopped renewing', async () => {
    await writeFile(path, JSON.stringify({ pid: process.pid, host: 'elsewhere', token: 'old' }));
    const longAgo = new Date(Date.now() - 60_000);
    await utimes(path, longAgo, longAgo);
    expect(await withFileLock({ path }, () => Promise.resolve('mine'))).toBe('mine');
  });

  it('keeps the lock of a living process that is too busy to renew it', async () => {
    await writeFile(path, JSON.stringify({ pid: process.ppid, host: hostname(), token: 'busy' }));
    const aWhileAgo = new Date(Date.now() - 60_000);
    await utimes(path, aWhileAgo, aWhileAgo);
    const signal = AbortSignal.timeout(50);
    await expect(withFileLock({ path, signal }, () => Promise.resolve())).rejects.toThrow();
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ token: 'busy' });
  });

  it('takes over from a killed process with its own id, as in a restarted container', async () => {
    await writeFile(path, JSON.stringify({ pid: process.pid, host: hostname(), token: 'killed' }));
    const aWhileAgo = new Date(Date.now() - 60_000);
    await utimes(path, aWhileAgo, aWhileAgo);
    const signal = AbortSignal.timeout(5_000);
    expect(await withFileLock({ path, signal }, () => Promise.resolve('mine'))).toBe('mine');
  });

  it('keeps a lock that this process holds and is too busy to renew', async () => {
    await withFileLock({ path }, async () => {
      const aWhileAgo = new Date(Date.now() - 60_000);
      await utimes(path, aWhileAgo, aWhileAgo);
      const signal = AbortSignal.timeout(50);
      await expect(withFileLock({ path, signal }, () => Promise.resolve())).rejects.toThrow();
    });
  });

  it('leaves an abandoned lock to the waiter that is taking it over, unless that one was killed', async () => {
    await writeFile(path, JSON.stringify({ pid: deadPid, host: hostname(), token: 'old' }));
    await writeFile(`${path}.takeover`, '');
    const aWhileAgo = new Date(Date.now() - 60_000);
    await utimes(path, aWhileAgo, aWhileAgo);
    const signal = AbortSignal.timeout(50);
    await expect(withFileLock({ path, signal }, () => Promise.resolve())).rejects.toThrow();
    await utimes(`${path}.takeover`, aWhileAgo, aWhileAgo);
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
