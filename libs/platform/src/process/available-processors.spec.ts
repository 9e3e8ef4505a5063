import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { availableProcessors } from './available-processors.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-cgroup-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** Counts the processors of a machine with these files of `/sys/fs/cgroup`. */
async function count(groups: string, tree: Record<string, string>): Promise<number> {
  for (const [name, text] of Object.entries({ ...tree, groups })) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), `${text}\n`);
  }
  return availableProcessors({ groups: join(folder, 'groups'), tree: folder });
}

describe('the processors of this process', () => {
  const all = availableParallelism();

  it('are those of the machine without a quota, and where nothing is told', async () => {
    expect(availableProcessors({ groups: join(folder, 'none'), tree: folder })).toBe(all);
    expect(await count('0::/', {})).toBe(all);
    expect(await count('0::/', { 'cpu.max': 'max 100000' })).toBe(all);
    expect(await count('1:cpu:/', { 'cpu/cpu.cfs_quota_us': '-1', 'cpu/cpu.cfs_period_us': '100000' })).toBe(all);
    expect(availableProcessors()).toBeGreaterThanOrEqual(1);
  });

  it('are within the quota of the group and of those above it, and never none', async () => {
    expect(await count('0::/pod/app', { 'pod/cpu.max': '100000 100000', 'pod/app/cpu.max': 'max 100000' })).toBe(1);
    expect(await count('0::/a', { 'a/cpu.max': '50000 100000' })).toBe(1);
    expect(await count('0::/b', { 'b/cpu.max': '99900000 100000' })).toBe(all);
  });

  it('are found in a container that sees the path of the machine', async () => {
    expect(await count('0::/kubepods/pod1/app', { 'cpu.max': '100000 100000' })).toBe(1);
  });

  it('are those of version 1', async () => {
    const quota = { 'cpu/a/cpu.cfs_quota_us': '150000', 'cpu/a/cpu.cfs_period_us': '100000' };
    expect(await count('4:memory:/x\n2:cpu,cpuacct:/a\n0::/', quota)).toBe(1);
  });
});
