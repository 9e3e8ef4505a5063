import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '#platform/embedded-postgres';
import { project } from '#test/local-run';
import { mayMount, SmallDisk } from '#test/small-disk';
import { WeightsServer } from '#test/weights-server';

/*
 * What `npm start` says in a clone that it cannot install: one sentence with the way out, and nothing of npm's. The clone
 * has the scripts of this one and a single package.
 */

const isRoot = process.getuid?.() === 0;
/** No user has this id. */
const unknownUid = 41_234;

describe.runIf(process.platform === 'linux')('npm start in a new clone refuses', () => {
  let folder: string;
  let clone: string;
  let server: WeightsServer;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice clone ü '));
    await chmod(folder, 0o755);
    clone = join(folder, 'sluice');
    await mkdir(clone);
    server = await WeightsServer.start();
  });
  afterEach(async () => {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Fills the clone, which has the scripts of this one. */
  async function fillClone(...others: string[]): Promise<{ path: string }> {
    const served = await writeClone(clone, server, others);
    for (const name of ['bin', 'scripts']) await cp(join(project, name), join(clone, name), { recursive: true });
    return served;
  }

  const start = (environment: Record<string, string>, uid?: number) =>
    spawn(process.execPath, [join(clone, 'scripts', 'start.mjs')], {
      cwd: clone,
      env: {
        ...{ PATH: process.env.PATH, HOME: folder, npm_config_cache: join(folder, 'cache') },
        ...{ npm_config_fetch_retries: '0', npm_config_update_notifier: 'false', npm_config_registry: server.url },
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(uid !== undefined && { uid, gid: uid }),
    });

  /** Resolves to the line of a start that ended with 1, after the line about what it does. */
  async function refusal(environment: Record<string, string> = {}, uid?: number): Promise<string> {
    const child = start(environment, uid);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (output += part.toString()));
    const [code] = (await once(child, 'close')) as [number];
    const [first, ...lines] = output.trim().split('\n');
    expect({ code, first, lines: lines.length }, output).toEqual({
      code: 1,
      first: 'Installing packages (npm ci) …',
      lines: 1,
    });
    return lines[0] ?? '';
  }

  it('a registry that does not answer', async () => {
    await fillClone();
    const port = await freePort();
    expect(await refusal({ npm_config_registry: `http://127.0.0.1:${port}/` })).toBe(
      `The npm registry 127.0.0.1:${port} did not answer (ECONNREFUSED). Check the network, or name a registry that can be ` +
        'reached: npm config set registry …',
    );
  });

  it.each([401, 403])('a registry that wants a login (%i)', async (status) => {
    await fillClone();
    server.statuses.set('/tiny-package', [status]);
    expect(await refusal()).toMatch(
      /^The npm registry.* wants a login \(E40[13]\)\. Log in \(npm login\), or write its/,
    );
  });

  it('a proxy that does not answer', async () => {
    await fillClone();
    const environment = {
      npm_config_registry: 'http://registry.invalid/',
      http_proxy: `http://127.0.0.1:${await freePort()}`,
    };
    expect(await refusal(environment)).toMatch(
      /^The npm registry registry\.invalid did not answer \(ECONNREFUSED\)\. http_proxy sends requests through a proxy: correct or unset it/,
    );
  });

  it('to wait for one half of the packages when the other failed, and leaves no npm behind', async () => {
    await fillClone(heavy);
    server.statuses.set(addressOf('tiny-package'), [401]);
    server.stalls.set(addressOf(heavy), [1_000]);
    expect(await refusal()).toMatch(/ wants a login \(E401\)\. /);
    await expect.poll(() => runningIn(clone)).toEqual([]);
    expect(await readdir(join(clone, 'node_modules'))).toEqual([]);
  });

  it('to go on when it is asked to end, and leaves no npm behind', async () => {
    const { path } = await fillClone();
    server.stalls.set(path, [1_000]);
    const child = start({});
    await expect.poll(() => server.requestsOf(path)).toHaveLength(1);
    expect(await runningIn(clone)).not.toEqual([]);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([143, null]);
    await expect.poll(() => runningIn(clone)).toEqual([]);
  });

  describe.runIf(isRoot)('as another user', () => {
    it('a folder that the user may not write', async () => {
      await fillClone();
      await mkdir(join(folder, 'cache'), { mode: 0o777 });
      await chmod(join(folder, 'cache'), 0o777);
      expect(await refusal({}, unknownUid)).toMatch(
        /^This user may not write .*sluice \(EACCES\)\. Give this user the folder \(chown -R\), or clone/,
      );
    });
  });

  describe.runIf(mayMount)('on a disk', () => {
    let disk: SmallDisk;

    afterEach(() => disk.unmount());

    it('that fills up', async () => {
      disk = SmallDisk.mount(clone, '3m');
      await fillClone();
      expect(await refusal()).toMatch(
        /^The disk of .* is full \(ENOSPC\)\. .* free some space, or clone to another disk/,
      );
    });

    it('that is read-only', async () => {
      disk = SmallDisk.mount(clone, '3m');
      await fillClone();
      disk.forbidWriting();
      expect(await refusal()).toMatch(/sluice is on a read-only file system \(EROFS\)\. Clone to a folder/);
    });
  });
});

describe('the packages of a new clone', () => {
  let folder: string;
  let server: WeightsServer;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice clone ü '));
    server = await WeightsServer.start();
  });
  afterEach(async () => {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function install(): Promise<void> {
    const module = pathToFileURL(join(project, 'scripts', 'install-for-start.mjs')).href;
    const script = `import { installForStart } from ${JSON.stringify(module)}; await installForStart(process.cwd());`;
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      cwd: folder,
      env: {
        ...{ PATH: process.env.PATH, HOME: folder, npm_config_cache: join(folder, 'cache') },
        ...{ npm_config_fetch_retries: '0', npm_config_update_notifier: 'false', npm_config_registry: server.url },
      },
    });
  }

  it('are downloaded without their metadata, by a lockfile that names no registry', async () => {
    const { tarball } = await writeClone(folder, server);
    const usual = addressOf('tiny-package');
    server.addFile(usual, tarball);
    await install();
    expect([server.requestsOf(usual).length, server.requestsOf('/tiny-package').length]).toEqual([1, 0]);
    expect(await readdir(join(folder, 'node_modules'))).toEqual(['.bin', '.package-lock.json', 'tiny-package']);
    expect(await readFile(join(folder, 'package-lock.json'), 'utf8')).not.toContain('://');
  });

  it('replace those of another lockfile', async () => {
    const { tarball } = await writeClone(folder, server, [heavy, '@scope/other']);
    server.addFile(addressOf('tiny-package'), tarball);
    await mkdir(join(folder, 'node_modules', 'former'), { recursive: true });
    await install();
    const packages = join(folder, 'node_modules');
    expect(await readdir(packages)).toEqual(['.bin', '.package-lock.json', '@scope', 'tiny-package', heavy]);
    expect(await readFile(join(packages, '.bin', 'other'), 'utf8')).toBe(command);
    expect(await readdir(join(packages, '@scope', 'other'))).toEqual(['command.mjs', 'data.bin', 'package.json']);
    const { stdout } = await promisify(execFile)('npm', ['ls', '--json'], { cwd: folder });
    const { dependencies, problems } = JSON.parse(stdout) as { dependencies: object; problems?: string[] };
    expect([Object.keys(dependencies), problems]).toEqual([['@scope/other', 'tiny-package', heavy], undefined]);
  });

  it('are found where the metadata says, in a registry with other addresses', async () => {
    const { path } = await writeClone(folder, server);
    await install();
    expect(server.requestsOf(path)).toHaveLength(1);
    expect(await readdir(join(folder, 'node_modules'))).toEqual(['.bin', '.package-lock.json', 'tiny-package']);
    expect(await readdir(join(folder, 'node_modules', 'tiny-package'))).toContain('data.bin');
  });
});

describe('sluice in a clone whose sources changed since its build', () => {
  it('runs that build, because a running product loads it, and says so', async () => {
    const clone = await mkdtemp(join(tmpdir(), 'sluice clone ü '));
    try {
      for (const name of ['bin', 'scripts', 'package.json', 'tsconfig.json']) {
        await cp(join(project, name), join(clone, name), { recursive: true });
      }
      for (const path of ['apps', 'node_modules', 'dist/apps/cli/src'])
        await mkdir(join(clone, path), { recursive: true });
      await writeFile(join(clone, 'dist/apps/cli/src/main.js'), "console.log('the former build');\n");
      const run = async () =>
        promisify(execFile)(process.execPath, [join(clone, 'bin', 'sluice.mjs'), 'models', 'list']);
      await writeFile(join(clone, 'dist/.built-for-start'), '2026-01-01T00:00:00.000Z\n');
      expect(await run()).toEqual({
        stdout: 'the former build\n',
        stderr: 'The sources changed since the build, which runs here. Build again: npm run build\n',
      });
      await writeFile(join(clone, 'dist/.built-for-start'), '2999-01-01T00:00:00.000Z\n');
      expect(await run()).toEqual({ stdout: 'the former build\n', stderr: '' });
    } finally {
      await rm(clone, { recursive: true });
    }
  });
});

/** The name of a package that the second of two processes of npm installs. */
const heavy = 'viem';

/** What is in the command of each package. */
const command = '#!/usr/bin/env node\n';

/** Where registries usually have a tarball. */
function addressOf(name: string): string {
  return `/${name}/-/${name.split('/').at(-1)}-1.0.0.tgz`;
}

/**
 * Writes `package.json` and the lockfile of a clone with one package, of 4 MB, that the registry has. It has the others at
 * their usual addresses.
 */
async function writeClone(
  folder: string,
  registry: WeightsServer,
  others: string[] = [],
): Promise<{ path: string; tarball: Buffer }> {
  const publish = (name: string, bytes: number) =>
    registry.addPackage(name, '1.0.0', {
      'package.json': Buffer.from(JSON.stringify({ name, version: '1.0.0', license: 'MIT', bin: 'command.mjs' })),
      'command.mjs': Buffer.from(command),
      'data.bin': randomBytes(bytes),
    });
  const tiny = await publish('tiny-package', 4_000_000);
  const integrities: Record<string, string> = { 'tiny-package': tiny.integrity };
  for (const name of others) {
    const { integrity, tarball } = await publish(name, 4_000);
    registry.addFile(addressOf(name), tarball);
    integrities[name] = integrity;
  }
  const dependencies = Object.fromEntries(Object.keys(integrities).map((name) => [name, '1.0.0']));
  const own = { name: 'sluice', version: '0.1.0', dependencies };
  const entries = Object.entries(integrities).map(([name, integrity]) => [
    `node_modules/${name}`,
    { version: '1.0.0', integrity, bin: { [name.split('/').at(-1) ?? name]: 'command.mjs' } },
  ]);
  await writeFile(join(folder, 'package.json'), JSON.stringify(own));
  const packages = { '': own, ...(Object.fromEntries(entries) as object) };
  const lockfile = { ...own, lockfileVersion: 3, requires: true, packages };
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify(lockfile));
  return tiny;
}

/** Ids of the processes that work in a folder. */
async function runningIn(folder: string): Promise<string[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const places = await Promise.all(ids.map((id) => readlink(`/proc/${id}/cwd`).catch(() => '')));
  return ids.filter((_, index) => places[index] === folder);
}
