import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockFile } from '#platform/home';
import { type ProcessIdentity, processStart, StartRefusal } from '#platform/process';
import { withHome } from './home-lock.js';
import { MergedLog } from './merged-log.js';

let output = '';
const stream = new Writable({
  write(chunk: Buffer, _encoding, done) {
    output += chunk.toString();
    done();
  },
});
const log = new MergedLog(stream as unknown as NodeJS.WriteStream);

let home: string;

beforeEach(async () => {
  output = '';
  home = await mkdtemp(join(tmpdir(), 'sluice-home-'));
});
afterEach(() => rm(home, { recursive: true }));

async function open(): Promise<'opened'> {
  await withHome(home, log, AbortSignal.timeout(5_000), () => Promise.resolve());
  return 'opened';
}

async function leaveLock(owner: Partial<ProcessIdentity>, date = new Date()): Promise<void> {
  await writeFile(lockFile(home), JSON.stringify({ host: hostname(), token: 'left', ...owner }));
  await utimes(lockFile(home), date, date);
}

/** No process has this id: it is above every system's maximum. */
const deadPid = 2 ** 30;
const inAnHour = new Date(Date.now() + 3_600_000);

describe('withHome', () => {
  it('opens a lock that a killed process with the same pid left, as in a restarted container', async () => {
    await leaveLock({ pid: process.pid });
    expect(await open()).toBe('opened');
  });

  it('opens a lock of a killed process that is dated in the future', async () => {
    await leaveLock({ pid: deadPid }, inAnHour);
    expect(await open()).toBe('opened');
    expect(output).toContain(`killed (process ${deadPid})`);
  });

  it('opens a lock whose process id belongs to another program now, and asks nobody to stop that', async () => {
    await leaveLock({ pid: process.ppid, started: 'before' });
    expect(await open()).toBe('opened');
    expect(output).not.toMatch(/stop/i);
  });

  it('asks nobody to stop a process of which only the id is known', async () => {
    await leaveLock({ pid: process.ppid });
    const stop = AbortSignal.timeout(200);
    const waiting = withHome(home, log, stop, () => Promise.resolve());
    await expect(waiting).rejects.not.toThrow(StartRefusal);
    expect(output).toContain(`was process ${process.ppid}; waiting`);
  });

  it('refuses a home that another process or this one has locked', async () => {
    await leaveLock({ pid: process.ppid, started: (await processStart(process.ppid)) ?? '' });
    await expect(open()).rejects.toThrow(StartRefusal);
    await rm(lockFile(home));
    await withHome(home, log, AbortSignal.timeout(5_000), async () => {
      await expect(open()).rejects.toThrow(StartRefusal);
    });
    expect(await open()).toBe('opened');
  });
});
