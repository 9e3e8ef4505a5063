import { spawn } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryGroup } from '#test/memory-group';
import { mayMount, mayRun, SmallDisk } from '#test/small-disk';

/* What `npm start` says on machines and homes it cannot start on: one sentence with the way out, never a stack. */

const program = fileURLToPath(new URL('../../dist/apps/local/src/main.js', import.meta.url));
const isRoot = process.getuid?.() === 0;
/** No user has this id. */
const unknownUid = 41_234;

interface Machine {
  environment?: Record<string, string>;
  uid?: number;
  /** Soft and hard limit. */
  openFiles?: number;
  /** Commands of a shell in a network of its own, before the start. */
  network?: string;
  memory?: MemoryGroup;
}

const canMakeNetworks = isRoot && mayRun('unshare', ['--net', 'ip', 'link', 'set', 'lo', 'up']);

describe.runIf(process.platform === 'linux')('npm start refuses', () => {
  let folder: string;
  let home: string;
  /** What the last start said before it ended. */
  let notes: string[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice refusal ü '));
    await chmod(folder, 0o755);
    home = join(folder, 'home');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Resolves to the only line of a start that ended with 1. */
  async function refusal({ environment = {}, uid, openFiles, network, memory }: Machine = {}): Promise<string> {
    const limit = openFiles === undefined ? '' : `ulimit -n ${openFiles}; `;
    const words = [
      '/bin/sh',
      '-c',
      `${limit}${memory?.entry ?? ''}${network ?? ''}exec "$0" "$@"`,
      process.execPath,
      program,
    ];
    const [command = '', ...args] = network === undefined ? words : ['unshare', '--net', ...words];
    const child = spawn(command, args, {
      ...(uid !== undefined && { uid, gid: uid }),
      env: { PATH: process.env.PATH, SLUICE_HOME: home, SLUICE_MODELS: 'none', PORT: '0', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (output += part.toString()));
    const code = await new Promise((resolve) => child.once('close', resolve));
    const isNote = (line: string) => /^[\d:.]{12} local  /.test(line);
    notes = output.split('\n').filter(isNote);
    const lines = output.split('\n').filter((line) => line !== '' && !isNote(line));
    expect({ code, lines: lines.length }, output).toEqual({ code: 1, lines: 1 });
    return lines[0] ?? '';
  }

  const makeHome = () => mkdir(join(home, 'postgres'), { recursive: true, mode: 0o700 });

  it('few open files', async () => {
    expect(await refusal({ openFiles: 512 })).toMatch(/^At most 512 open files .* ulimit -n 4096/);
  });

  it.runIf(isRoot && MemoryGroup.isPossible())(
    'an emptied secret key in a container with little memory, and says both',
    async () => {
      const memory = MemoryGroup.create(`sluice-${process.pid}`, 1e9);
      try {
        await makeHome();
        await writeFile(join(home, 'secret.key'), '');
        expect(await refusal({ memory })).toContain('secret.key');
        expect(notes[0]).toMatch(/has 1000\.0 MB of memory, and Sluice takes about 1\.5 GB .* give it more/);
      } finally {
        memory.remove();
      }
    },
  );

  it('a home that is a file', async () => {
    await writeFile(home, '');
    expect(await refusal()).toMatch(/home cannot be used \(.*SLUICE_HOME=… npm start$/);
  });

  it('a taken port', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    expect(await refusal({ environment: { PORT: String(port) } })).toMatch(/is taken\. .*PORT=… npm start$/);
    server.close();
  });

  it('an emptied secret key', async () => {
    await makeHome();
    await writeFile(join(home, 'secret.key'), '');
    expect(await refusal()).toMatch(/secret\.key does not hold 64 hex digits\. Restore it from a backup, or delete it/);
  });

  it('a secret key that is a folder', async () => {
    await mkdir(join(home, 'secret.key'), { recursive: true });
    expect(await refusal()).toMatch(/EISDIR.* It is a folder and should be a file/);
  });

  it('a database folder with other files', async () => {
    await makeHome();
    await writeFile(join(home, 'postgres', 'notes.txt'), '');
    expect(await refusal()).toContain(`${home}/postgres is not empty and holds no PostgreSQL data. Move`);
  });

  it('a database folder without its password', async () => {
    await makeHome();
    await writeFile(join(home, 'postgres', 'PG_VERSION'), '18\n');
    expect(await refusal()).toMatch(/postgres\/sluice\.password cannot be used .*restore the folder from a backup/);
  });

  it('a damaged database folder, by its real name', async () => {
    await makeHome();
    await writeFile(join(home, 'postgres', 'PG_VERSION'), '9.6\n');
    await writeFile(join(home, 'postgres', 'sluice.password'), 'secret\n');
    const line = await refusal();
    expect(line).toContain(`PostgreSQL does not start on ${home}/postgres: `);
    expect(line).not.toContain('/proc/self');
  });

  it('variables of libpq that may be about the server of the queue', async () => {
    const environment = { PGSSLMODE: 'require', SLUICE_QUEUE_URL: 'postgresql://sluice@127.0.0.1:1/queue' };
    expect(await refusal({ environment })).toMatch(/^PGSSLMODE would also reach .* SLUICE_QUEUE_URL/);
  });

  it('a database that does not listen', async () => {
    const environment = { DATABASE_URL: 'postgresql://sluice@127.0.0.1:1/none' };
    expect(await refusal({ environment })).toMatch(/^The database cannot be used\. Connections are refused/);
  });

  describe.runIf(mayMount)('on a disk', () => {
    let disk: SmallDisk;

    afterEach(() => disk.unmount());

    it('that is full', async () => {
      disk = SmallDisk.mount(folder, '2m');
      const line = await refusal();
      expect(line).toMatch(
        /^The disk of .*\/home\/postgres\.partial is full\. .* 100 MB: free some space, .*SLUICE_HOME=/,
      );
      expect(await readdir(home)).not.toContain('postgres.partial');
    });

    it('that is read-only, as the root of many containers', async () => {
      disk = SmallDisk.mount(folder, '2m');
      disk.forbidWriting();
      expect(await refusal()).toMatch(/home cannot be used \(EROFS.*SLUICE_HOME=… npm start$/);
    });
  });

  describe.runIf(canMakeNetworks)('in a network', () => {
    const reason = /over 127\.0\.0\.1, which this machine does not have .*ip link set lo up/;

    // Starts a database first, which takes seconds.
    it('whose loopback interface is down', async () => {
      expect(await refusal({ network: ':; ' })).toMatch(reason);
    });

    it.each(['127.0.0.1', '::1'])('that has IPv6 only, on its loopback interface too, with HOST=%s', async (HOST) => {
      const network = 'ip link set lo up; ip addr del 127.0.0.1/8 dev lo; ';
      expect(await refusal({ network, environment: { HOST, PORT: '3999' } })).toMatch(reason);
    });
  });

  describe.runIf(isRoot)('as another user', () => {
    it('a user id without a name', async () => {
      await chown(folder, unknownUid, unknownUid);
      expect(await refusal({ uid: unknownUid })).toMatch(/^PostgreSQL creates no database for user id 41234.*passwd/);
    });

    it('a home that the user may not write', async () => {
      expect(await refusal({ uid: unknownUid })).toMatch(/home cannot be used \(EACCES.*SLUICE_HOME=… npm start$/);
    });

    it('a database folder of another user', async () => {
      await makeHome();
      await writeFile(join(home, 'postgres', 'PG_VERSION'), '18\n');
      await chown(home, unknownUid, unknownUid);
      await chmod(join(home, 'postgres'), 0o755);
      const line = await refusal({ uid: unknownUid });
      expect(line).toMatch(/postgres belongs to user 0, but Sluice runs as user 41234\..* chown -R 41234/);
    });
  });
});
