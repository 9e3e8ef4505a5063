import { readFile, writeFile } from 'node:fs/promises';

async function readBytes(pid: number, field: 'VmHWM' | 'VmRSS'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
}

/** Highest resident memory of a process since it started or its peak was reset, in bytes. */
export async function readPeak(pid: number): Promise<number> {
  return await readBytes(pid, 'VmHWM');
}

/** Returns by how much the memory of a process grew at most while `work` ran, in bytes. */
export async function measurePeak(pid: number, work: () => Promise<unknown>): Promise<number> {
  // Resets the peak to the current value.
  await writeFile(`/proc/${pid}/clear_refs`, '5');
  const before = await readBytes(pid, 'VmRSS');
  await work();
  return (await readBytes(pid, 'VmHWM')) - before;
}
