import { readdir, readFile } from 'node:fs/promises';

/** Resident memory of a process and its descendants in bytes; 0 without /proc. */
export async function residentBytesOfTree(rootPid: number): Promise<number> {
  const processes = await listProcesses();
  const children = (parent: number): number[] =>
    processes.filter((each) => each.parent === parent).flatMap((each) => [each.pid, ...children(each.pid)]);
  const tree = new Set([rootPid, ...children(rootPid)]);
  return processes.filter((each) => tree.has(each.pid)).reduce((total, each) => total + each.residentBytes, 0);
}

interface ProcessEntry {
  pid: number;
  parent: number;
  residentBytes: number;
}

async function listProcesses(): Promise<ProcessEntry[]> {
  const names = await readdir('/proc').catch(() => []);
  const entries = await Promise.all(
    names.filter((name) => /^\d+$/.test(name)).map((name) => readProcess(Number(name))),
  );
  return entries.filter((entry) => entry !== null);
}

/** A process that ends while it is read counts as zero. */
async function readProcess(pid: number): Promise<ProcessEntry | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const parent = /^PPid:\s+(\d+)/m.exec(status)?.[1];
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(status)?.[1];
  if (parent === undefined) return null;
  return { pid, parent: Number(parent), residentBytes: Number(kilobytes ?? 0) * 1024 };
}
