import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acceptsOurPassword, clearLeftOverServer } from './left-over-server.js';

const login = { user: 'sluice', password: 'secret' };

describe.runIf(process.platform === 'linux')('clearLeftOverServer', () => {
  let folder: string;
  let data: string;
  let child: ChildProcess;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-left-over-'));
    data = join(folder, 'data');
    await mkdir(data);
    // The system shows any process started from this file under this name.
    await symlink('/bin/sleep', join(folder, 'postgres'));
  });

  afterEach(async () => {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  /** A process named postgres, and a pid file in the data folder that points to it. */
  async function startAt(cwd: string): Promise<void> {
    child = spawn(join(folder, 'postgres'), ['60'], { cwd, argv0: 'sleep', stdio: 'ignore' });
    await once(child, 'spawn');
    await writeFile(join(data, 'postmaster.pid'), `${child.pid}\n${data}\n0\n9\n`);
  }

  it('spares an unrelated PostgreSQL that has the pid of ours', async () => {
    await startAt(folder);
    await clearLeftOverServer(data, login.user, login.password);
    expect([child.exitCode, child.signalCode, child.killed]).toEqual([null, null, false]);
    expect(existsSync(`/proc/${child.pid}/exe`)).toBe(true);
    expect(existsSync(join(data, 'postmaster.pid'))).toBe(false);
  });

  it('stops the server of the folder, whatever path it was started with', async () => {
    await startAt(data);
    const ended = once(child, 'exit');
    const other = join(folder, 'other name');
    await symlink(data, other);
    await clearLeftOverServer(other, login.user, login.password);
    expect(await ended).toEqual([null, 'SIGINT']);
    expect(existsSync(join(data, 'postmaster.pid'))).toBe(false);
  });
});

describe('acceptsOurPassword', () => {
  it.each([
    ['starts or stops', '57P03', true],
    ['has no connection left', '53300', true],
    ['refuses the password', '28P01', false],
  ])('given a server that %s (%s), returns whether it is ours: %s', async (_state, code, expected) => {
    const server = createServer((socket) => {
      const fields = Buffer.from(`SFATAL\0C${code}\0Mno\0\0`);
      const head = Buffer.alloc(5);
      head.write('E');
      head.writeInt32BE(fields.length + 4, 1);
      socket.once('data', () => socket.end(Buffer.concat([head, fields])));
      socket.on('error', () => undefined);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await acceptsOurPassword({ ...login, port })).toBe(expected);
    server.close();
  });
});
