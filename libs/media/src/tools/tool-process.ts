import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable, type Writable } from 'node:stream';
import { errorText } from '#common/values';
import { toolEnvironment } from '#platform/config';
import { crashSignals, notStartedCodes, residentBytes } from '#platform/sandbox';

export interface ToolRun {
  /** Program and its arguments. */
  program: string;
  args: readonly string[];
  signal?: AbortSignal;
  /** Time limit of the process, in ms. */
  timeoutMs: number;
  /** All memory of the process; watched on Linux. */
  maxResidentBytes: number;
}

/**
 * `refused`: the tool exited with an error code, crashed, or wrote too large a file. `too-long`: it exceeded its time or processor time.
 * `too-large`: it exceeded its memory. `lost`: it could not start or was killed from outside,
 * for example for lack of memory, which says nothing about its input.
 */
export type ToolEnd = 'refused' | 'too-long' | 'too-large' | 'lost';

const ends: Record<ToolEnd, string> = {
  refused: 'the tool failed',
  'too-long': 'the tool took too long',
  'too-large': 'the tool took too much memory',
  lost: 'the tool was lost',
};

/** A failed tool run. `detail` is for logs, never for clients. */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure';

  constructor(
    readonly detail: string,
    readonly end: ToolEnd,
  ) {
    super(ends[end]);
  }
}

/** Maximum length of the tool's error output that is kept. */
const maxWords = 2_000;
/** Maximum timer delay; a longer limit means no limit. */
const longestTimerMs = 2 ** 31 - 1;
const watchMs = 100;

type ToolChild = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * A run of ffmpeg or ffprobe. It cannot outlive this process by much: its input ends or its output pipe breaks, and our
 * side kills it.
 */
export class ToolProcess {
  /** Null if the machine could not start one. */
  private readonly child: ToolChild | null;
  private readonly ended: Promise<void>;
  private words = '';
  private timedOut = false;
  private tookTooMuch = false;
  private isOurKill = false;
  private failedToStart = false;

  constructor({ program, args, signal, timeoutMs, maxResidentBytes }: ToolRun) {
    this.child = this.start(program, args);
    const { child } = this;
    if (child === null) {
      this.ended = Promise.resolve();
      return;
    }
    // Writing to an exited tool fails here; its exit code says more.
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
    const watch = setInterval(() => void this.checkMemory(child.pid, maxResidentBytes), watchMs);
    const kill = (): void => this.kill();
    signal?.addEventListener('abort', kill, { once: true });
    if (signal?.aborted) kill();
    this.ended = new Promise((resolve) => {
      child.once('close', () => resolve());
      child.once('error', () => resolve());
    });
    void this.ended.then(() => {
      clearTimeout(timer);
      clearInterval(watch);
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

  /** Resolves on success. Rejects with `ToolFailure`, or with the signal's reason on abort. */
  async finished(signal?: AbortSignal): Promise<void> {
    await this.ended;
    signal?.throwIfAborted();
    if (this.child?.exitCode !== 0) throw new ToolFailure(this.words.trim(), this.end());
  }

  /** Kills the process if it still runs and waits for its end. */
  async dispose(): Promise<void> {
    this.kill();
    this.output.destroy();
    await this.ended;
  }

  private start(program: string, args: readonly string[]): ToolChild | null {
    try {
      const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: toolEnvironment() });
      child.once('error', (error) => {
        this.failedToStart ||= child.pid === undefined;
        this.words ||= error.message;
      });
      // Without a free file descriptor, the child has no pipes.
      return (child.stdin as Writable | undefined) === undefined ? null : child;
    } catch (error) {
      this.words = errorText(error);
      return null;
    }
  }

  private async checkMemory(pid: number | undefined, maxBytes: number): Promise<void> {
    if ((await residentBytes(pid)) <= maxBytes || this.hasEnded) return;
    this.tookTooMuch = true;
    this.kill();
  }

  private end(): ToolEnd {
    if (this.child === null || this.failedToStart) return 'lost';
    const { exitCode, signalCode } = this.child;
    if (this.timedOut || signalCode === 'SIGXCPU') return 'too-long';
    if (this.tookTooMuch) return 'too-large';
    if (this.isOurKill || crashSignals.includes(signalCode)) return 'refused';
    return signalCode !== null || notStartedCodes.includes(exitCode) ? 'lost' : 'refused';
  }
}
