import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable, type Writable } from 'node:stream';
import { toolEnvironment } from '#platform/config';

export interface ToolRun {
  /** Program and its arguments. */
  program: string;
  args: readonly string[];
  signal?: AbortSignal;
  /** Longest life of the process, in ms. */
  timeoutMs: number;
}

/**
 * `refused`: it ended by itself and says that it could not. `too-long`: its time was over. `lost`: it never began, or
 * somebody else ended it, as a system does that runs out of memory; that says nothing about what it worked on.
 */
export type ToolEnd = 'refused' | 'too-long' | 'lost';

const ends: Record<ToolEnd, string> = {
  refused: 'the tool failed',
  'too-long': 'the tool took too long',
  lost: 'the tool was lost',
};

/** The tool ended badly. `detail` is for logs, never for callers. */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure';

  constructor(
    readonly detail: string,
    readonly end: ToolEnd,
  ) {
    super(ends[end]);
  }
}

/** Words a tool may leave us with; the rest of a flood of warnings is dropped. */
const maxWords = 2_000;
/** Timers hold no more; a tool that may take longer may take as long as it likes. */
const longestTimerMs = 2 ** 31 - 1;

type ToolChild = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * One run of ffmpeg or ffprobe. It cannot outlive us by much: it reads from a pipe that ends or writes to one that
 * breaks when we die, and our own ends of it kill it.
 */
export class ToolProcess {
  /** Null where the machine could not start one. */
  private readonly child: ToolChild | null;
  private readonly ended: Promise<void>;
  private words = '';
  private timedOut = false;
  private isOurKill = false;
  private neverBegan = false;

  constructor({ program, args, signal, timeoutMs }: ToolRun) {
    this.child = this.start(program, args);
    const { child } = this;
    if (child === null) {
      this.ended = Promise.resolve();
      return;
    }
    // Writing to a tool that has ended fails here; how it ended says more.
    child.stdin.on('error', () => undefined);
    child.stderr.on('data', (chunk: Buffer) => {
      if (this.words.length < maxWords) this.words += chunk.toString('utf8').slice(0, maxWords);
    });
    const timer = setTimeout(
      () => {
        this.timedOut = true;
        this.kill();
      },
      Math.min(timeoutMs, longestTimerMs),
    );
    const kill = (): void => this.kill();
    signal?.addEventListener('abort', kill, { once: true });
    if (signal?.aborted) kill();
    this.ended = new Promise((resolve) => {
      child.once('close', () => resolve());
      child.once('error', () => resolve());
    });
    void this.ended.then(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', kill);
    });
  }

  get output(): Readable {
    return this.child?.stdout ?? Readable.from([]);
  }

  kill(): void {
    if (this.child === null || this.hasEnded) return;
    this.isOurKill = true;
    this.child.kill('SIGKILL');
  }

  /** Writes one part; resolves when there is room for the next, or when the tool has ended. */
  async write(chunk: Uint8Array): Promise<void> {
    const stdin = this.child?.stdin;
    if (stdin === undefined || stdin.destroyed || stdin.write(chunk)) return;
    await Promise.race([once(stdin, 'drain').catch(() => undefined), this.ended]);
  }

  closeInput(): void {
    this.child?.stdin.end();
  }

  get hasEnded(): boolean {
    return this.child === null || this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Resolves when the tool ended well. Rejects with `ToolFailure`, or with the signal's reason where that aborted. */
  async finished(signal?: AbortSignal): Promise<void> {
    await this.ended;
    signal?.throwIfAborted();
    if (this.child?.exitCode !== 0) throw new ToolFailure(this.words.trim(), this.end());
  }

  /** Kills what is left and waits for its end. */
  async dispose(): Promise<void> {
    this.kill();
    this.output.destroy();
    await this.ended;
  }

  private start(program: string, args: readonly string[]): ToolChild | null {
    try {
      const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: toolEnvironment() });
      child.once('error', (error) => {
        this.neverBegan ||= child.pid === undefined;
        this.words ||= error.message;
      });
      // A process without a free file descriptor gets a child without pipes.
      return (child.stdin as Writable | undefined) === undefined ? null : child;
    } catch (error) {
      this.words = error instanceof Error ? error.message : String(error);
      return null;
    }
  }

  private end(): ToolEnd {
    if (this.timedOut) return 'too-long';
    const signalled = this.child !== null && this.child.signalCode !== null;
    return this.child === null || this.neverBegan || (signalled && !this.isOurKill) ? 'lost' : 'refused';
  }
}
