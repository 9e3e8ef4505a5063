import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { toolEnvironment } from '#platform/config';
import { crashSignals, residentBytes, type Sandbox } from '#platform/sandbox';
import { type DecoderLimits, heapMegabytes, imagesPerProcess, openFiles } from './decoder-limits.js';
import type { DecoderProgram } from './decoder-program.js';
import { type DecodeTask, framed } from './decoder-protocol.js';
import { type Decoded, ReportReader } from './report-reader.js';

const watchMs = 50;
/** A machine on which the program does not start in this time is to blame. */
const startTimeoutMs = 60_000;
/** The library must not write large images to temporary files: the process may write none. */
const libraryEnvironment = { VIPS_DISC_THRESHOLD: '1000g' };

/** What is wrong with an image. The message follows "The image". */
export class DecodeFault extends Error {
  override readonly name = 'DecodeFault';
}

/** The decoder could not start or was killed from outside, which says nothing about its image. */
export class DecoderLost extends Error {
  override readonly name = 'DecoderLost';
}

/** A task that the process works on. */
interface Work {
  reader: ReportReader;
  timer: NodeJS.Timeout;
  resolve: (decoded: Decoded) => void;
  reject: (error: Error) => void;
}

/** A decoder: a child process that decodes one image at a time, and keeps no other process alive while it has none. */
export class DecoderProcess {
  private readonly child: ChildProcess;
  private work: Work | null = null;
  private hasEnded = false;
  private hasStarted = false;
  private usedSeconds = 0;
  private images = 0;
  /** Why this side killed the child. */
  private killedFor: Error | null = null;
  private failure: Error | null = null;

  constructor(
    { modulePath, nodeArguments }: DecoderProgram,
    private readonly limits: DecoderLimits,
    sandbox: Sandbox,
  ) {
    const options = [`--max-old-space-size=${heapMegabytes}`, '--v8-pool-size=1', '--expose-gc', '--no-warnings'];
    const command = { program: process.execPath, args: [...options, ...nodeArguments, modulePath] };
    const { program, args } = sandbox.command(command, {
      memoryBytes: limits.memoryBytes,
      cpuSeconds: limits.cpuSeconds * imagesPerProcess,
      fileBytes: 0,
      openFiles,
    });
    this.child = start(program, args);
    this.child.once('error', (error) => {
      this.failure = error;
      if (this.child.pid === undefined) this.onEnd(null);
    });
    this.child.once('close', (_code, signal) => this.onEnd(signal));
    // Its end says more than a broken pipe.
    for (const pipe of this.pipes) pipe.on('error', () => undefined);
    this.pipes[1]?.on('data', (part: Buffer) => this.onData(part));
    this.setReferenced(false);
  }

  get processId(): number | undefined {
    return this.child.pid;
  }

  /** Whether it can decode another image. */
  get isUsable(): boolean {
    const { cpuSeconds, maxImages } = this.limits;
    const hasTime = this.usedSeconds < cpuSeconds * (imagesPerProcess - 1);
    return !this.hasEnded && this.killedFor === null && hasTime && this.images < maxImages;
  }

  /**
   * Rejects with `DecodeFault` if the image is to blame for the end of the process, otherwise with `DecoderLost`. A report
   * may contain a fault. The process must have no other work.
   */
  async run(task: DecodeTask, file: Buffer, maxBodyBytes: number): Promise<Decoded> {
    if (this.hasEnded) throw new DecoderLost('the decoder was lost', { cause: this.failure });
    this.images += 1;
    const timer = this.timer(this.hasStarted ? this.limits.timeoutMs : startTimeoutMs);
    const watch = setInterval(() => void this.checkMemory(), watchMs);
    this.setReferenced(true);
    try {
      return await new Promise((resolve, reject) => {
        this.work = { reader: new ReportReader(this.hasStarted, maxBodyBytes), timer, resolve, reject };
        const [input] = this.pipes;
        input?.write(framed(task, file.length));
        input?.write(file);
      });
    } finally {
      clearTimeout(this.work?.timer);
      this.work = null;
      this.setReferenced(false);
      clearInterval(watch);
    }
  }

  /** Ends the process, which has no work. */
  end(): void {
    this.pipes[0]?.destroy();
  }

  /** Input and output. */
  private get pipes(): Socket[] {
    const [input, , , output] = this.child.stdio;
    return [input, output] as unknown as Socket[];
  }

  private setReferenced(isReferenced: boolean): void {
    for (const emitter of [this.child, ...this.pipes]) {
      if (isReferenced) emitter.ref();
      else emitter.unref();
    }
  }

  private onData(part: Buffer): void {
    const { work } = this;
    // Nothing was asked.
    if (work === null) return this.kill('is damaged or cut off');
    const state = work.reader.add(part);
    // The start is no image's time.
    if (!this.hasStarted) {
      clearTimeout(work.timer);
      work.timer = this.timer(this.limits.timeoutMs);
    }
    this.hasStarted = true;
    if (state === 'invalid') return this.kill('is damaged or cut off');
    if (state === null) return;
    this.usedSeconds = state.report.cpuSeconds;
    work.resolve(state);
  }

  private timer(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.kill('takes too long to read'), ms);
  }

  private onEnd(signal: NodeJS.Signals | null): void {
    this.hasEnded = true;
    this.work?.reject(this.killedFor ?? this.explain(signal));
  }

  private explain(signal: NodeJS.Signals | null): Error {
    if (this.hasStarted && signal === 'SIGXCPU') return new DecodeFault('takes too long to read');
    // Without a signal, it ended itself over the image.
    if (this.hasStarted && (signal === null || crashSignals.includes(signal))) {
      return new DecodeFault('is damaged or cut off');
    }
    return new DecoderLost('the decoder was lost', { cause: this.failure });
  }

  private async checkMemory(): Promise<void> {
    const { work, child } = this;
    const resident = await residentBytes(child.pid);
    if (resident > this.limits.maxResidentBytes && this.work === work) this.kill('needs too much memory to read');
  }

  private kill(problem: string): void {
    this.killedFor ??= this.hasStarted ? new DecodeFault(problem) : new DecoderLost('the decoder does not start');
    this.child.kill('SIGKILL');
  }
}

function start(program: string, args: readonly string[]): ChildProcess {
  try {
    const env = { ...toolEnvironment(), ...libraryEnvironment };
    const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'ignore', 'pipe'], env });
    // Without a free file descriptor, the child has no pipes.
    if ((child.stdio as unknown) !== undefined) return child;
  } catch (cause) {
    throw new DecoderLost('the decoder cannot be started', { cause });
  }
  throw new DecoderLost('the decoder has no pipes');
}
