import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { root } from './repository-files.js';

/* The first start deletes the libraries of other systems from the installed model runtime, and nothing else. */

interface Trim {
  trimRuntime: (options?: { folder?: string | null; platform?: string; architecture?: string }) => number;
}

const { trimRuntime } = (await import(pathToFileURL(join(root, 'bin/trim-runtime.mjs')).href)) as Trim;
const systems = ['darwin/arm64', 'linux/arm64', 'linux/x64', 'win32/arm64', 'win32/x64'];

describe('trimRuntime', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice runtime '));
    for (const system of systems) {
      await mkdir(join(folder, system), { recursive: true });
      await writeFile(join(folder, system, 'libonnxruntime.so.1'), 'x'.repeat(1_000));
    }
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const left = async () => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ parentPath }) => parentPath.slice(folder.length + 1));
  };

  it.each([
    ['linux', 'x64'],
    ['linux', 'arm64'],
    ['darwin', 'arm64'],
    ['win32', 'x64'],
  ])('leaves the libraries of %s on %s alone, and counts what it deleted', async (platform, architecture) => {
    expect(trimRuntime({ folder, platform, architecture })).toBe(4_000);
    expect(await left()).toEqual([join(platform, architecture)]);
    expect(trimRuntime({ folder, platform, architecture })).toBe(0);
  });

  it('deletes nothing where the libraries of this system are missing', async () => {
    expect(trimRuntime({ folder, platform: 'linux', architecture: 'riscv64' })).toBe(0);
    expect(trimRuntime({ folder, platform: 'freebsd', architecture: 'x64' })).toBe(0);
    expect((await left()).toSorted()).toEqual(systems);
  });

  it.runIf(process.getuid?.() !== 0)('leaves what this user may not delete', async () => {
    await chmod(folder, 0o500);
    expect(() => trimRuntime({ folder, platform: 'linux', architecture: 'x64' })).not.toThrow();
    await chmod(folder, 0o700);
  });

  it('does nothing without a runtime', () => {
    expect(trimRuntime({ folder: join(folder, 'missing'), platform: 'linux', architecture: 'x64' })).toBe(0);
    expect(trimRuntime({ folder: null })).toBe(0);
    expect(existsSync(folder)).toBe(true);
  });
});
