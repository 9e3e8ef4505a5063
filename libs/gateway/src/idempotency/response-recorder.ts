import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClaimEnding, KeyClaim, StoredResponse } from '#jobs';
import type { ResponseEnding, ResponseRecording } from '#platform/idempotency';

/** Maximum bytes stored of one response, and of all concurrent recordings of this process. */
export const maxResponseBytes = 16 * 1024 * 1024;
export const totalRecordingBytes = 256 * 1024 * 1024;

/** How long the end of a response waits for its recording to be stored, in ms. Storing continues after that. */
const storeWaitMs = 1_000;

/** Headers that describe the transfer or the moment of a response and are not part of the recording. */
const transientHeaders =
  /^(connection|keep-alive|date|content-length|transfer-encoding|content-encoding|vary|x-ratelimit-.*|x-service-balance-.*|x-balance-remaining)$/;

/** Limits the memory of concurrent response recordings. */
export class RecordingQuota {
  private taken = 0;

  constructor(private readonly bytes = totalRecordingBytes) {}

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
export class ResponseRecorder implements ResponseRecording {
  private parts: Buffer[] | null = [];
  private bytes = 0;
  private head: Omit<StoredResponse, 'body'> | null = null;
  private stored: Promise<void> | null = null;

  /** `commonHeaders` names the headers that every response has. A replay gets its own. */
  constructor(
    private readonly claim: KeyClaim,
    private readonly quota: RecordingQuota,
    private readonly commonHeaders: ReadonlySet<string>,
  ) {}

  begin(status: number, headers: Record<string, unknown>): void {
    const recorded = Object.entries(headers).filter(
      ([name, value]) => value !== undefined && !this.commonHeaders.has(name) && !transientHeaders.test(name),
    );
    this.head ??= { status, headers: Object.fromEntries(recorded.map(([name, value]) => [name, String(value)])) };
  }

  add(bytes: string | Uint8Array): void {
    if (this.parts === null) return;
    const part = typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes);
    if (this.bytes + part.length > maxResponseBytes || !this.quota.take(part.length)) return this.drop();
    this.parts.push(part);
    this.bytes += part.length;
  }

  async end(ending: ResponseEnding): Promise<void> {
    const isError = (this.head?.status ?? 500) >= 400;
    const stored = this.store(ending === 'failed' || isError ? 'failed' : 'answered', () => this.answer());
    await Promise.race([stored, sleep(storeWaitMs, undefined, { ref: false })]);
  }

  /**
   * Ends the recording when the connection closes; no effect after the response ended. A partial binary is dropped, a
   * partial text is stored.
   */
  cut(): void {
    const isEvents = this.head?.headers['content-type']?.startsWith('text/event-stream') === true;
    void this.store('cut', () => (isEvents ? this.answer() : null));
  }

  /** Only the first call counts. The quota stays used until the recording is written. */
  private store(ending: ClaimEnding, answerOf: () => StoredResponse | null): Promise<void> {
    if (this.stored !== null) return this.stored;
    const answer = answerOf();
    const { bytes } = this;
    this.stored = this.claim.end(ending, answer);
    if (answer === null) this.drop();
    else void this.stored.finally(() => this.quota.refund(bytes));
    [this.parts, this.bytes] = [null, 0];
    return this.stored;
  }

  /** Records `source` as it passes; its end waits until the recording is stored. Errors are reported through `cut`. */
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

  private answer(): StoredResponse | null {
    if (this.head === null || this.parts === null) return null;
    return { ...this.head, body: Buffer.concat(this.parts) };
  }

  private drop(): void {
    this.parts = null;
    this.quota.refund(this.bytes);
    this.bytes = 0;
  }
}
