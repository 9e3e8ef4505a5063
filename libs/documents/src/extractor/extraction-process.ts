import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { mebibyte } from '#common/values';
import { toolEnvironment } from '#platform/config';
import { residentBytes, type Sandbox } from '#platform/sandbox';
import { DocumentFault } from '../document-fault.js';
import { framed, type RequestHead, type ReportHead, startMarkBytes, unframed } from './extraction-protocol.js';
import type { ExtractorProgram } from './extractor-program.js';

const watchMs = 50;
const maxHeadBytes = 4096;
/** Links, title and metadata of a page. */
const maxPageBytes = 8 * mebibyte;
/** A character takes at most three bytes in UTF-8. */
const bytesPerCharacter = 3;
/** Stacks of threads and reserved heaps, which count before they are used. */
const reservedBytes = 512 * mebibyte;
const openFiles = 256;
/** How V8 ends a process whose heap is full, and the kernel one whose stack is. */
const crashSignals: readonly string[] = ['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGSEGV', 'SIGBUS'];

export interface ProcessLimits {
  timeoutMs: number;
  /** Processor time of all threads, where the machine limits it. */
  maxCpuSeconds: number;
  /** Memory of JavaScript objects. */
  maxHeapBytes: number;
  /** All memory of the process; watched on Linux. */
  maxResidentBytes: number;
}

/** A report without a fault. */
export type Extraction = Exclude<ReportHead, { fault: string }> & { text: string };

/** The extractor could not start or was killed from outside, which says nothing about its file. */
export class ExtractorLost extends Error {
  override readonly name = 'ExtractorLost';
}

/** One extractor: a child process that reads one document. */
export class ExtractionProcess {
  private readonly child: ChildProcess;
  private readonly parts: Buffer[] = [];
  private receivedBytes = 0;
  /** Why this side killed the child. */
  private killedFor: Error | null = null;
  private failure: Error | null = null;

  constructor(
    { modulePath, nodeArguments }: ExtractorProgram,
    private readonly limits: ProcessLimits,
    sandbox: Sandbox,
  ) {
    const heap = `--max-old-space-size=${Math.floor(limits.maxHeapBytes / mebibyte)}`;
    const command = { program: process.execPath, args: [heap, ...nodeArguments, modulePath] };
    const { program, args } = sandbox.command(command, {
      memoryBytes: limits.maxResidentBytes + reservedBytes,
      cpuSeconds: limits.maxCpuSeconds,
      fileBytes: 0,
      openFiles,
    });
    this.child = spawn(program, args, {
      stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
      env: toolEnvironment(),
    });
  }

  /**
   * Rejects with `DocumentFault` for what is wrong with the file, `ExtractorLost`, or the signal's reason. The process
   * has ended then.
   */
  async extract(head: RequestHead, bytes: Buffer, signal?: AbortSignal): Promise<Extraction> {
    const onAbort = (): void => this.kill(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
    const timeout = setTimeout(() => this.kill(tooMuchTime()), this.limits.timeoutMs);
    const watch = setInterval(() => void this.checkMemory(), watchMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    try {
      const ended = this.end();
      // JSON escapes a character by at most six bytes.
      const perCharacter = head.page === undefined ? bytesPerCharacter : 2 * bytesPerCharacter;
      this.receive(
        (head.page === undefined ? 0 : maxPageBytes) + maxHeadBytes + head.limits.maxCharacters * perCharacter,
      );
      this.send(framed(head), bytes);
      return this.result(await ended);
    } finally {
      clearTimeout(timeout);
      clearInterval(watch);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  private end(): Promise<string | null> {
    return new Promise((resolve) => {
      this.child.once('close', (_code, signal) => resolve(signal));
      this.child.once('error', (error) => {
        this.failure = error;
        if (this.child.pid === undefined) resolve(null);
      });
    });
  }

  private send(...parts: Buffer[]): void {
    const { stdin } = this.child;
    // Its end says more than a broken pipe.
    stdin?.on('error', () => undefined);
    for (const part of parts) stdin?.write(part);
    stdin?.end();
  }

  private receive(maxBytes: number): void {
    const output = this.child.stdio[3] as Readable | undefined | null;
    output?.on('error', () => undefined);
    output?.on('data', (part: Buffer) => {
      this.receivedBytes += part.length;
      if (this.receivedBytes > maxBytes) this.kill(new DocumentFault('is damaged'));
      else this.parts.push(part);
    });
  }

  private result(signal: string | null): Extraction {
    if (this.killedFor !== null) throw this.killedFor;
    const output = Buffer.concat(this.parts);
    const report = unframed(output.subarray(startMarkBytes));
    if (report !== null && signal === null) {
      const { body } = report;
      const head = report.head as ReportHead;
      if ('fault' in head) throw new DocumentFault(head.fault);
      return { ...head, text: body.toString('utf8') };
    }
    const hasBegun = output.length >= startMarkBytes;
    if (signal === 'SIGXCPU' && hasBegun) throw tooMuchTime();
    if (signal !== null && crashSignals.includes(signal) && hasBegun) throw tooMuchMemory();
    throw new ExtractorLost('the extractor was lost', { cause: this.failure });
  }

  private async checkMemory(): Promise<void> {
    if ((await residentBytes(this.child.pid)) > this.limits.maxResidentBytes) this.kill(tooMuchMemory());
  }

  private kill(reason: Error): void {
    this.killedFor ??= reason;
    this.child.kill('SIGKILL');
  }
}

function tooMuchTime(): DocumentFault {
  return new DocumentFault('takes too long to read');
}

function tooMuchMemory(): DocumentFault {
  return new DocumentFault('needs too much memory to read');
}
