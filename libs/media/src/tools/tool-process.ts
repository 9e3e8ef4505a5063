import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { toolEnvironment } from '#platform/config';

export interface ToolRun {
  /** Program and its arguments. */
  program: string;
  args: readonly string[];
  signal?: AbortSignal;
  /** Longest life of the process, in ms. */
  timeoutMs: number;
}

/** The tool ended badly: it refused its input, was killed, or ran too long. `detail` is for logs, never for callers. */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure';

  constructor(
    readonly detail: string,
    readonly timedOut: boolean,
  ) {
    super(timedOut ? 'the tool took too long' : 'the tool failed');
  }
}

/** Words a tool may leave us with; the rest of a flood of warnings is dropped. */
const mostWords = 2_000;

/**
 * One run of ffmpeg or ffprobe. It cannot outlive us by much: it reads from a pipe that ends or writes to one that
 * breaks when we die, and our own ends of it kill it.
 */
export class ToolProcess {
  private readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  private readonly ended: Promise<void>;
  private words = '';
  private timedOut = false;

  constructor({ program, args, signal, timeoutMs }: ToolRun) {
    this.child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: toolEnvironment() });
    // Writing to a tool that has ended fails here; how it ended says more.
    this.child.stdin.on('error', () => undefined);
    this.child.stderr.on('data', (chunk: Buffer) => {
      if (this.words.length < mostWords) this.words += chunk.toString('utf8').slice(0, mostWords);
    });
    const timer = setTimeout(() => {
      this.timedOut = true;
      this.kill();
    }, timeoutMs);
    const kill = (): void => this.kill();
    signal?.addEventListener('abort', kill, { once: true });
    if (signal?.aborted) kill();
    this.ended = new Promise((resolve) => {
      this.child.once('close', () => resolve());
      this.child.once('error', (error) => {
        this.words ||= error.message;
        resolve();
      });
    });
    void this.ended.then(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', kill);
    });
  }

  get output(): Readable {
    return this.child.stdout;
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  /** Writes one part; resolves when there is room for the next, or when the tool has ended. */
  async write(chunk: Uint8Array): Promise<void> {
    const { stdin } = this.child;
    if (stdin.destroyed || stdin.write(chunk)) return;
    await Promise.race([once(stdin, 'drain').catch(() => undefined), this.ended]);
  }

  closeInput(): void {
    this.child.stdin.end();
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Resolves when the tool ended well. Rejects with `ToolFailure`, or with the signal's reason where that aborted. */
  async finished(signal?: AbortSignal): Promise<void> {
    await this.ended;
    signal?.throwIfAborted();
    if (this.child.exitCode !== 0) throw new ToolFailure(this.words.trim(), this.timedOut);
  }

  /** Kills what is left and waits for its end. */
  async dispose(): Promise<void> {
    this.kill();
    this.child.stdout.destroy();
    await this.ended;
  }
}
