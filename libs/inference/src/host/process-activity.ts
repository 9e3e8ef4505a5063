import { readdirSync, readFileSync } from 'node:fs';

/** What the kernel has counted for a process since it started. */
export interface ProcessActivity {
  /** Processor time of all threads, in ms. */
  cpuMs: number;
  /** Time for which threads could run and got no processor, in ms. */
  waitedMs: number;
  /** Pages that had to be read from a disk. */
  pageReads: number;
  /** A thread runs, or could run, now. Never true for a stopped process. */
  isRunnable: boolean;
}

/** Linux counts in hundredths of a second for programs, whatever its own timer. */
const msPerTick = 10;

/** Reads the activity of a process from `/proc`; null where there is no such process or no `/proc`. */
export function readProcessActivity(pid: number): ProcessActivity | null {
  try {
    const stat = readStat(`/proc/${pid}/stat`);
    const threads = readdirSync(`/proc/${pid}/task`).map((thread) => readThread(`/proc/${pid}/task/${thread}`));
    return {
      cpuMs: stat.cpuMs,
      waitedMs: threads.reduce((sum, { waitedMs }) => sum + waitedMs, 0),
      pageReads: stat.pageReads,
      isRunnable: threads.some(({ state }) => state === 'R'),
    };
  } catch {
    return null;
  }
}

function readThread(folder: string): { state: string; waitedMs: number } {
  try {
    return { state: readStat(`${folder}/stat`).state, waitedMs: readWaitedMs(folder) };
  } catch {
    // It ended meanwhile.
    return { state: '', waitedMs: 0 };
  }
}

/** Zero where the kernel was built without these counts. */
function readWaitedMs(folder: string): number {
  try {
    const [, waitedNs = '0'] = readFileSync(`${folder}/schedstat`, 'utf8').split(' ');
    return Number(waitedNs) / 1e6;
  } catch {
    return 0;
  }
}

function readStat(path: string): { state: string; cpuMs: number; pageReads: number } {
  const text = readFileSync(path, 'utf8');
  // The name of the program, which may contain anything, ends with the last parenthesis.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const number = (index: number) => Number(fields[index] ?? 0);
  return { state: fields[0] ?? '', cpuMs: (number(11) + number(12)) * msPerTick, pageReads: number(9) };
}
