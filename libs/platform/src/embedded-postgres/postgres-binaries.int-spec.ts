import { execFile } from 'node:child_process';
import { chmod, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { copyToSharedFolder, locatePostgresBinaries } from './postgres-binaries.js';

/** The user that runs PostgreSQL when Sluice runs as root. */
const nobody = { uid: 65534, gid: 65534 };

describe.runIf(process.getuid?.() === 0)('copyToSharedFolder', () => {
  let folder: string;
  let packageFolder: string;
  let umask: number;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-binaries-'));
    await chmod(folder, 0o755);
    const { initdb } = await locatePostgresBinaries(null);
    // What npm leaves behind when root installs under this umask.
    umask = process.umask(0o077);
    packageFolder = join(folder, 'private', 'linux-x64');
    await cp(dirname(dirname(dirname(initdb))), packageFolder, { recursive: true });
  });

  afterEach(async () => {
    process.umask(umask);
    await rm(folder, { recursive: true, force: true });
  });

  const versionOf = async (copy: string) => {
    const { stdout } = await promisify(execFile)(join(copy, 'native', 'bin', 'initdb'), ['--version'], nobody);
    return stdout;
  };

  it('makes programs that another user can run, whatever the umask', async () => {
    await expect(versionOf(packageFolder)).rejects.toThrow('EACCES');
    const copy = await copyToSharedFolder(packageFolder, [join(folder, 'cache')]);
    expect(await versionOf(copy)).toMatch(/^initdb \(PostgreSQL\) \d/);
  });

  it('repairs an earlier copy that only root can read', async () => {
    const bases = [join(folder, 'cache')];
    await chmod(await copyToSharedFolder(packageFolder, bases), 0o700);
    expect(await versionOf(await copyToSharedFolder(packageFolder, bases))).toMatch(/^initdb/);
  });

  it('says what to do where no folder can be read by everyone', async () => {
    await expect(copyToSharedFolder(packageFolder, [join(folder, 'private', 'cache')])).rejects.toThrow(
      /Run Sluice as another user, or let root create .* with the rights 0755/,
    );
  });
});
