import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks per second in /proc: 100 on every Linux that Node supports. */
const ticksPerSecond = 100;

interface ProcessTimes {
  parent: number;
  ticks: number;
}

/** CPU time of process trees, by name. Unlike wall-clock time it is reliable on a shared machine. */
export class CpuClock {
  private readonly begunMs: Map<string, number>;

  /** `roots` are the root processes of each tree. */
  constructor(private readonly roots: Record<string, number>) {
    this.begunMs = this.read();
  }

  /** CPU time in ms since the start, by name; empty without /proc. */
  elapsedMs(): Record<string, number> {
    const now = this.read();
    return Object.fromEntries([...now].map(([name, ms]) => [name, ms - (this.begunMs.get(name) ?? 0)]));
  }

  private read(): Map<string, number> {
    const times = readTimes();
    if (times.size === 0) return new Map();
    const rootOf = (pid: number): string | null => {
      for (let at = pid; at > 1; at = times.get(at)?.parent ?? 0) {
        const named = Object.entries(this.roots).find(([, root]) => root === at);
        if (named !== undefined) return named[0];
      }
      return null;
    };
    const sums = new Map(Object.keys(this.roots).map((name) => [name, 0]));
    for (const [pid, { ticks }] of times) {
      const name = rootOf(pid);
      if (name !== null) sums.set(name, (sums.get(name) ?? 0) + (ticks * 1_000) / ticksPerSecond);
    }
    return sums;
  }
}

/** Every process with its own CPU time and that of its reaped children. */
function readTimes(): Map<number, ProcessTimes> {
  const times = new Map<number, ProcessTimes>();
  for (const name of listProcesses()) {
    try {
      // The command in parentheses may contain any character; parsing starts after it.
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
      times.set(Number(name), { parent: Number(fields[1]), ticks });
    } catch {
      // The process has just exited.
    }
  }
  return times;
}

function listProcesses(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    // Not Linux.
    return [];
  }
}
