import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';

/** Where Linux tells about control groups. */
const linuxFiles = { groups: '/proc/self/cgroup', tree: '/sys/fs/cgroup' };

/** Where this process stands, and how its tree tells a quota in processors; null for a group without one. */
interface Hierarchy {
  group: string;
  tree: string;
  quotaOf(folder: string): number | null;
}

/**
 * Returns how many threads can run at once: processors that this process may use, within the quota of its control group
 * and of those above it. Node itself counts quotas from version 22 on only. At least 1.
 */
export function availableProcessors(files = linuxFiles): number {
  const quotas = hierarchiesOf(files).flatMap(quotasOf);
  return Math.max(1, Math.floor(Math.min(availableParallelism(), ...quotas)));
}

function hierarchiesOf({ groups, tree }: typeof linuxFiles): Hierarchy[] {
  return (readText(groups) ?? '').split('\n').flatMap((line): Hierarchy[] => {
    const [id, controllers = '', group] = line.split(':', 3);
    if (group === undefined) return [];
    if (id === '0') return [{ group, tree, quotaOf: quotaOfVersion2 }];
    return controllers.split(',').includes('cpu') ? [{ group, tree: join(tree, 'cpu'), quotaOf: quotaOfVersion1 }] : [];
  });
}

function quotasOf({ group, tree, quotaOf }: Hierarchy): number[] {
  const quotas: number[] = [];
  // In a container, the path may be that of the machine, where its tree has only the last part or nothing of it.
  for (let part = group; ; part = dirname(part)) {
    const quota = quotaOf(join(tree, part));
    if (quota !== null) quotas.push(quota);
    if (part === dirname(part)) return quotas;
  }
}

/** `cpu.max`: quota and period in µs, or `max` for no quota. */
function quotaOfVersion2(folder: string): number | null {
  const [quota, period] = (readText(join(folder, 'cpu.max')) ?? '').split(' ').map(Number);
  return ratioOf(quota, period);
}

/** A quota of -1 is none. */
function quotaOfVersion1(folder: string): number | null {
  const [quota, period] = ['cpu.cfs_quota_us', 'cpu.cfs_period_us'].map((name) => Number(readText(join(folder, name))));
  return ratioOf(quota, period);
}

function ratioOf(quota = 0, period = 0): number | null {
  return quota > 0 && period > 0 ? quota / period : null;
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}
