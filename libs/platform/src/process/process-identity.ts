import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { isProcessAlive } from '#common';

const run = promisify(execFile);

/** A process of this machine. The id alone may belong to another process after this one has ended. */
export interface ProcessIdentity {
  pid: number;
  /** From `processStart`. Absent where the system does not tell. */
  started?: string;
}

/** `unsure`: a process with this id runs, and nothing tells whether it is the same one. */
export type ProcessState = 'running' | 'gone' | 'unsure';

/**
 * Returns when a process began, as a text that only its own process has: boot and clock ticks on Linux, the time to the
 * second elsewhere. Null when there is no such process or the system does not tell.
 */
export async function processStart(pid: number): Promise<string | null> {
  if (process.platform === 'win32') return null;
  const entry = await readProcessEntry(pid);
  if (entry !== null) return entry.started;
  return process.platform === 'linux' ? null : askPs(pid);
}

/** Identity of this process. */
export async function ownIdentity(): Promise<ProcessIdentity> {
  const started = await processStart(process.pid);
  return { pid: process.pid, ...(started !== null && { started }) };
}

/** Returns whether a process of this machine still runs. A zombie does not. */
export async function processState({ pid, started }: ProcessIdentity): Promise<ProcessState> {
  if (!Number.isSafeInteger(pid) || pid <= 0 || !isProcessAlive(pid)) return 'gone';
  const entry = await readProcessEntry(pid);
  if (entry?.isZombie) return 'gone';
  const current = entry?.started ?? (await processStart(pid));
  if (started === undefined || current === null) return 'unsure';
  return current === started ? 'running' : 'gone';
}

interface ProcessEntry {
  started: string;
  /** It has ended, and its parent has not noticed. */
  isZombie: boolean;
}

/** From `/proc` of Linux; null elsewhere, and where it is hidden. */
async function readProcessEntry(pid: number): Promise<ProcessEntry | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
    // The second field is the name in parentheses, which may hold blanks and parentheses itself.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, ticks] = [fields[0], fields[19]];
    if (ticks === undefined) return null;
    // Ticks count from the boot.
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'latin1').catch(() => '');
    return { started: `${boot.trim()} ${ticks}`, isZombie: state === 'Z' || state === 'X' };
  } catch {
    return null;
  }
}

async function askPs(pid: number): Promise<string | null> {
  try {
    const env = { LC_ALL: 'C', TZ: 'UTC' };
    const { stdout } = await run('/bin/ps', ['-o', 'lstart=', '-p', String(pid)], { env, timeout: 5_000 });
    return stdout.trim() || null;
  } catch {
    return null;
  }
}
