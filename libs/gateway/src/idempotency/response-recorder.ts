import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClaimEnding, KeyClaim, StoredResponse } from '#jobs';
import type { ResponseEnding, ResponseTape } from '#platform/http';

/** Bytes of one answer that are kept, and of all that are being taken down in this process. */
export const maxResponseBytes = 16 * 1024 * 1024;
export const allResponsesBytes = 256 * 1024 * 1024;

/** How long the end of an answer waits until it is kept, in ms; it is kept later all the same. */
const keepWithinMs = 1_000;

/** What says how an answer travelled, or how things stood at its moment, and is not part of it. */
const momentary =
  /^(connection|keep-alive|date|content-length|transfer-encoding|content-encoding|vary|x-ratelimit-.*|x-service-balance-.*|x-balance-remaining)$/;

/** Room for the answers that a process takes down at the same time. */
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

/** Takes down the answer to the first request with a key, and hands it to the claim when it has ended. */
export class ResponseRecorder implements ResponseTape {
  private parts: Buffer[] | null = [];
  private bytes = 0;
  private head: Omit<StoredResponse, 'body'> | null = null;
  private kept: Promise<void> | null = null;

  /** `given` are the headers that every answer has, by name: a replay gets its own. */
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
    const kept = this.keep(ending === 'failed' || isError ? 'failed' : 'answered', () => this.answer());
    await Promise.race([kept, sleep(keepWithinMs, undefined, { ref: false })]);
  }

  /** The connection is gone; of no effect when the answer had ended. Half a picture is none, but half a text is. */
  cut(): void {
    const isEvents = this.head?.headers['content-type']?.startsWith('text/event-stream') === true;
    void this.keep('cut', () => (isEvents ? this.answer() : null));
  }

  /** Only the first call counts. What waits to be written takes as much room as what is taken down. */
  private keep(ending: ClaimEnding, answerOf: () => StoredResponse | null): Promise<void> {
    if (this.kept !== null) return this.kept;
    const answer = answerOf();
    const { bytes } = this;
    this.kept = this.claim.end(ending, answer);
    if (answer === null) this.drop();
    else void this.kept.finally(() => this.room.refund(bytes));
    [this.parts, this.bytes] = [null, 0];
    return this.kept;
  }

  /** `source`, taken down on its way; its end waits until it is kept. What breaks it is told by `cut`. */
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
    this.room.refund(this.bytes);
    this.bytes = 0;
  }
}
