import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withHome } from './home-lock.js';
import { lockFile } from './home.js';
import { MergedLog } from './merged-log.js';
import { StartRefusal } from './start-refusal.js';

const silent = new MergedLog(
  new Writable({ write: (_chunk, _encoding, done) => done() }) as unknown as NodeJS.WriteStream,
);

let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
});
afterEach(() => rm(home, { recursive: true }));

async function open(): Promise<'opened'> {
  await withHome(home, silent, AbortSignal.timeout(5_000), () => Promise.resolve());
  return 'opened';
}

async function leaveLock(pid: number): Promise<void> {
  await mkdir(dirname(lockFile(home)), { recursive: true });
  await writeFile(lockFile(home), JSON.stringify({ pid, host: hostname(), token: 'left' }));
  const aWhileAgo = new Date(Date.now() - 10_000);
  await utimes(lockFile(home), aWhileAgo, aWhileAgo);
}

describe('withHome', () => {
  it('opens a lock that a killed process with the same pid left, as in a restarted container', async () => {
    await leaveLock(process.pid);
    expect(await open()).toBe('opened');
  });

  it('refuses a home that another process or this one has locked', async () => {
    await leaveLock(process.ppid);
    await expect(open()).rejects.toThrow(StartRefusal);
    await rm(lockFile(home));
    await withHome(home, silent, AbortSignal.timeout(5_000), async () => {
      await expect(open()).rejects.toThrow(StartRefusal);
    });
    expect(await open()).toBe('opened');
  });
});
