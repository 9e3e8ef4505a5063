import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';

/** A process of the platform and the memory that it alone uses. */
export interface ProcessMemory {
  pid: number;
  name: string;
  /** Resident, without shared pages of other processes counted twice: the proportional set size. */
  bytes: number;
}

interface ProcessEntry {
  pid: number;
  parent: number;
  command: string[];
}

async function readProcess(pid: number): Promise<ProcessEntry | null> {
  const [stat, command] = await Promise.all([
    readFile(`/proc/${pid}/stat`, 'latin1').catch(() => ''),
    readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => ''),
  ]);
  // The name before the last bracket may contain anything.
  const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  return Number.isNaN(parent) ? null : { pid, parent, command: command.split('\0') };
}

/** All descendants of a process. */
async function descendantsOf(root: number): Promise<ProcessEntry[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const entries = (await Promise.all(pids.map(readProcess))).filter((entry) => entry !== null);
  const found: ProcessEntry[] = [];
  const parents = [root];
  for (let parent = parents.pop(); parent !== undefined; parent = parents.pop()) {
    const children = entries.filter((entry) => entry.parent === parent);
    found.push(...children);
    parents.push(...children.map(({ pid }) => pid));
  }
  return found;
}

/** The app of a Node process (`api`, `worker`, `ops`, `model-host`), or the name of another program. */
function nameOf([program = '', ...args]: string[]): string {
  const script = args.find((arg) => arg.endsWith('.js'));
  if (script === undefined) return basename(program.split(' ')[0] ?? '').replace(/:$/, '');
  const [, app] = /apps\/(\w+)\/src\/main\.js$/.exec(script) ?? [];
  return app ?? basename(script, '.js').replace(/\.main$/, '');
}

async function proportionalBytes(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => '');
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024;
}

/** Memory of every process that this one started, directly or not. */
export async function processMemory(root = process.pid): Promise<ProcessMemory[]> {
  const processes = await descendantsOf(root);
  return await Promise.all(
    processes.map(async ({ pid, command }) => ({ pid, name: nameOf(command), bytes: await proportionalBytes(pid) })),
  );
}

/** Sums of the processes of one name. PostgreSQL has one per connection, which come and go. */
export function memoryByName(processes: readonly ProcessMemory[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { name, bytes } of processes) sums.set(name, (sums.get(name) ?? 0) + bytes);
  return sums;
}
