import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClaimEnding, KeyClaim, StoredResponse } from '#jobs';
import type { ResponseEnding, ResponseTape } from '#platform/http';

/** Maximum bytes of one stored response, and of all responses that this process records at the same time. */
export const maxResponseBytes = 16 * 1024 * 1024;
export const allResponsesBytes = 256 * 1024 * 1024;

/** How long the end of a response waits for its storage, in ms; storing continues after that. */
const keepWithinMs = 1_000;

/** Headers that describe the transfer or the moment and are not part of the stored response. */
const momentary =
  /^(connection|keep-alive|date|content-length|transfer-encoding|content-encoding|vary|x-ratelimit-.*|x-service-balance-.*|x-balance-remaining)$/;

/** Memory for the responses that a process records at the same time. */
export class RecordingQuota {
  private taken = 0;

  constructor(private readonly bytes = allResponsesBytes) {}

  take(bytes: number): boolean {
    if (this.taken + bytes > this.bytes) return false;
    this.taken += bytes;
    return true;
  }

  refund(bytes: number): void {
    this.taken -= bytes;
  }
}

/** Records the response to the first request with a key and passes it to the claim at the end. */
export class ResponseRecorder implements ResponseTape {
  private parts: Buffer[] | null = [];
  private bytes = 0;
  private head: Omit<StoredResponse, 'body'> | null = null;
  private stored: Promise<void> | null = null;

  /** `given` names the headers that every response has; a replay gets its own. */
  constructor(
    private readonly claim: KeyClaim,
    private readonly room: RecordingQuota,
    private readonly given: ReadonlySet<string>,
  ) {}

  begin(status: number, headers: Record<string, unknown>): void {
    const own = Object.entries(headers).filter(
      ([name, value]) => value !== undefined && !this.given.has(name) && !momentary.test(name),
    );
    this.head ??= { status, headers: Object.fromEntries(own.map(([name, value]) => [name, String(value)])) };
  }

  add(bytes: string | Uint8Array): void {
    if (this.parts === null) return;
    const part = typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes);
    if (this.bytes + part.length > maxResponseBytes || !this.room.take(part.length)) return this.drop();
    this.parts.push(part);
    this.bytes += part.length;
  }

  async end(ending: ResponseEnding): Promise<void> {
    const isError = (this.head?.status ?? 500) >= 400;
    const stored = this.keep(ending === 'failed' || isError ? 'failed' : 'answered', () => this.response());
    await Promise.race([stored, sleep(keepWithinMs, undefined, { ref: false })]);
  }

  /** The connection closed; no effect after the end. Part of an event stream is stored, part of a file is not. */
  cut(): void {
    const isEvents = this.head?.headers['content-type']?.startsWith('text/event-stream') === true;
    void this.keep('cut', () => (isEvents ? this.response() : null));
  }

  /** Only the first call counts. A response that waits to be stored still uses its memory. */
  private keep(ending: ClaimEnding, responseOf: () => StoredResponse | null): Promise<void> {
    if (this.stored !== null) return this.stored;
    const response = responseOf();
    const { bytes } = this;
    this.stored = this.claim.end(ending, response);
    if (response === null) this.drop();
    else void this.stored.finally(() => this.room.refund(bytes));
    [this.parts, this.bytes] = [null, 0];
    return this.stored;
  }

  /** Passes `source` on and records it; its end waits until the recording is stored. `cut` reports failures. */
  through(source: Readable): Readable {
    return Readable.from(this.passing(source), { objectMode: false });
  }

  private async *passing(source: Readable): AsyncGenerator<Buffer> {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      this.add(chunk);
      yield chunk;
    }
    await this.end('whole');
  }

  private response(): StoredResponse | null {
    if (this.head === null || this.parts === null) return null;
    return { ...this.head, body: Buffer.concat(this.parts) };
  }

  private drop(): void {
    this.parts = null;
    this.room.refund(this.bytes);
    this.bytes = 0;
  }
}
