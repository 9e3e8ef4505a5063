import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { runSourceArguments, sourcePath } from '#test/source-program';
import type { ReadOrder, ReadReport } from './reader.main.js';

/** Longest time that reading a file of some kilobytes may take: above the limits of the tools that it starts. */
const limitMs = 40_000;

/** How the reading of a file ended. `crashed`: with the process that read it. */
export interface ReadEnd {
  end: ReadReport['end'] | 'crashed';
  detail: string;
}

/** A reading process, replaced when it crashes or does not answer. */
export class MutatedReader {
  private child: ChildProcess | null = null;

  async read(order: ReadOrder): Promise<ReadEnd> {
    const child = await this.running();
    const report = this.next(child);
    child.send(order);
    const end = await report;
    if (end.end === 'crashed' || end.end === 'late') this.close();
    return end;
  }

  close(): void {
    this.child?.kill('SIGKILL');
    this.child = null;
  }

  private async running(): Promise<ChildProcess> {
    if (this.child !== null) return this.child;
    const execArgv = [...runSourceArguments, '--max-old-space-size=1024'];
    this.child = fork(sourcePath('test/mutations/reader.main.ts'), [], { execArgv, serialization: 'advanced' });
    const ready = await this.next(this.child);
    if (ready.end !== 'read') throw new Error(`the reading process does not start: ${ready.detail}`);
    return this.child;
  }

  private async next(child: ChildProcess): Promise<ReadEnd> {
    const stop = new AbortController();
    const { signal } = stop;
    const timer = setTimeout(() => stop.abort(), limitMs);
    try {
      return await Promise.race([
        once(child, 'message', { signal }).then(([report]) => report as ReadReport),
        once(child, 'exit', { signal }).then(([code, by]) => ({ end: 'crashed' as const, detail: `${code ?? by}` })),
      ]);
    } catch {
      return { end: 'crashed', detail: `no end after ${limitMs} ms` };
    } finally {
      clearTimeout(timer);
      stop.abort();
    }
  }
}
