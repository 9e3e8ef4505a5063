import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { PlatformError } from '#common';
import { readJson } from './json-body.js';
import type { JsonThreadMessage } from './json-thread.js';

/** Bodies of more bytes than this are parsed in the thread. */
export const threadedBytes = 256 * 1024;

/** Memory of the thread's heap, in MB: a body of 35 MB in two-byte characters, several times. */
const threadHeapMb = 512;

/** After a body of more bytes the thread ends at once, which returns its heap. A new one takes some 30 ms. */
const heavyBytes = 4 * 1024 * 1024;

/** How long the thread waits for a body, in ms. Its heap keeps the last ones until it ends. */
const threadIdleMs = 5_000;

interface WaitingBody {
  /** Whose body it is. */
  source: string;
  /** Bytes of the body; those of `bytes` move to the thread. */
  size: number;
  bytes: Uint8Array<ArrayBuffer>;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * Parses JSON bodies within their limits: small ones at once, large ones one by one in a thread, so that the event loop
 * keeps serving others. Sources take turns: a body never waits for several of one other caller. The thread starts with a
 * large body and ends when none has come for a while. Unbuilt sources (tests) have no thread.
 */
export class JsonParser {
  private readonly waiting: WaitingBody[] = [];
  /** The last turn of each source that has waiting bodies, or the current one. */
  private readonly turns = new Map<string, number>();
  private turn = 0;
  private current: WaitingBody | null = null;
  private thread: Worker | null = null;
  private retirement: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(
    /** Compiled module of the thread; null: everything is parsed at once. */
    private readonly script: URL | null = builtScript(),
    private readonly idleMs = threadIdleMs,
  ) {}

  /** Rejects as `readJson` does. The bytes of a large body must not be used afterwards. */
  async parse(bytes: Buffer<ArrayBuffer>, source = ''): Promise<unknown> {
    if (bytes.length <= threadedBytes || this.script === null) return readJson(bytes);
    if (this.closed) throw interrupted();
    return await new Promise<unknown>((resolve, reject) => {
      this.waiting.push({ source, size: bytes.length, bytes, resolve, reject });
      this.next();
    });
  }

  /** Ends the thread. Bodies that still wait are rejected. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.retirement);
    for (const body of this.waiting.splice(0)) body.reject(interrupted());
    await this.thread?.terminate();
  }

  private next(): void {
    if (this.current !== null) return;
    const body = this.takeTurn();
    if (body === undefined) {
      this.thread?.unref();
      this.retirement = setTimeout(() => this.retire(), this.idleMs).unref();
      return;
    }
    clearTimeout(this.retirement);
    this.current = body;
    this.thread ??= this.start();
    this.thread.ref();
    const { buffer, byteOffset, byteLength } = body.bytes;
    // A slice of a shared pool must not be moved away from its other owners.
    const ownsBuffer = byteOffset === 0 && byteLength === buffer.byteLength;
    this.thread.postMessage(new Uint8Array(buffer, byteOffset, byteLength), ownsBuffer ? [buffer] : []);
  }

  /** The first body of the source whose turn is longest ago. */
  private takeTurn(): WaitingBody | undefined {
    const turnOf = (body: WaitingBody | undefined): number => this.turns.get(body?.source ?? '') ?? 0;
    let position = 0;
    this.waiting.forEach((body, index) => {
      if (turnOf(body) < turnOf(this.waiting[position])) position = index;
    });
    const [body] = this.waiting.splice(position, 1);
    if (body === undefined) return undefined;
    const sources = new Set(this.waiting.map(({ source }) => source));
    for (const source of this.turns.keys()) if (!sources.has(source)) this.turns.delete(source);
    this.turn += 1;
    this.turns.set(body.source, this.turn);
    return body;
  }

  private start(): Worker {
    const thread = new Worker(this.script as URL, { resourceLimits: { maxOldGenerationSizeMb: threadHeapMb } });
    thread.on('message', (message: JsonThreadMessage) => this.settle(message));
    // Out of memory, for example. Only the body that it read is lost; the next one starts a new thread.
    thread.on('error', () => this.lose(thread));
    thread.on('exit', () => this.lose(thread));
    return thread;
  }

  private retire(): void {
    const { thread } = this;
    this.thread = null;
    void thread?.terminate();
  }

  private settle(message: JsonThreadMessage): void {
    const body = this.current;
    this.current = null;
    if (body !== null && body.size > heavyBytes) this.retire();
    if (message.type === 'value') body?.resolve(message.value);
    else {
      const { code, message: text, param } = message.error;
      body?.reject(new PlatformError(code, text, param, message.issues ? { issues: message.issues } : {}));
    }
    this.next();
  }

  private lose(thread: Worker): void {
    if (this.thread !== thread) return;
    this.thread = null;
    this.current?.reject(
      this.closed ? interrupted() : new PlatformError('INVALID_REQUEST', 'The body is too complex.'),
    );
    this.current = null;
    this.next();
  }
}

function interrupted(): PlatformError {
  return new PlatformError('SERVICE_UNAVAILABLE', 'The service is restarting.');
}

function builtScript(): URL | null {
  const isBuilt = fileURLToPath(import.meta.url).endsWith('.js');
  return isBuilt ? new URL('./json-thread.js', import.meta.url) : null;
}
