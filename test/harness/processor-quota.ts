import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A control group that limits the processor time of processes, on kernels where this process may create one. */
export interface ProcessorQuota {
  add(pid: number): void;
  /** Moves the processes back and removes the group. */
  remove(): void;
}

const periodUs = 100_000;
/** Version 1 has a tree of its own for the processor, version 2 one for everything. */
const trees = [
  { root: '/sys/fs/cgroup/cpu', limits: (us: number) => ({ 'cpu.cfs_period_us': periodUs, 'cpu.cfs_quota_us': us }) },
  { root: '/sys/fs/cgroup', limits: (us: number) => ({ 'cpu.max': `${us} ${periodUs}` }) },
];

/** Limits its processes together to a share of one processor; null where that is not possible. */
export function processorQuota(share: number): ProcessorQuota | null {
  for (const { root, limits } of trees) {
    const folder = join(root, `sluice-test-${process.pid}-${counter++}`);
    try {
      mkdirSync(folder);
    } catch {
      continue;
    }
    const pids: number[] = [];
    const move = (group: string, pid: number) => writeFileSync(join(group, 'cgroup.procs'), String(pid));
    const remove = (): void => {
      for (const pid of pids.filter((each) => readPids(folder).includes(each))) move(root, pid);
      rmdirSync(folder);
    };
    try {
      for (const [file, value] of Object.entries(limits(share * periodUs))) {
        // Files of a control group exist or do not; they cannot be created.
        writeFileSync(join(folder, file), String(value), { flag: 'r+' });
      }
    } catch {
      rmdirSync(folder);
      continue;
    }
    const add = (pid: number): void => {
      pids.push(pid);
      move(folder, pid);
    };
    return { add, remove };
  }
  return null;
}

let counter = 0;

function readPids(folder: string): number[] {
  return readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').map(Number);
}
