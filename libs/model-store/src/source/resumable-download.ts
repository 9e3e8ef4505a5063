import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ContentCheck, type ExpectedContent } from './digest.js';
import type { FileWriterFactory } from './file-writer.js';
import { InterruptedDownloadError, pullError } from './pull-error.js';

/** An open response to a request for the bytes from an offset on. */
export interface RangeResponse {
  /** Where the body starts: the requested offset, or 0 if the server cannot resume. */
  offset: number;
  /** Bytes of the whole file; null if the server does not say. */
  totalBytes: number | null;
  /** Changes with the file (ETag or date); null if the server sends none. */
  validator: string | null;
  body: AsyncIterable<Uint8Array>;
}

export interface DownloadRequest {
  /**
   * Opens the remote file at an offset; `validator` is that of the part. Rejects with `InterruptedDownloadError` if a
   * retry helps.
   */
  open: (offset: number, validator: string | null) => Promise<RangeResponse>;
  target: string;
  /** For messages. */
  name: string;
  expected: ExpectedContent;
  /** Maximum size; larger files are rejected at the first byte that shows it. */
  maxBytes: number;
  openWriter: FileWriterFactory;
  onProgress: (stage: 'download' | 'verify', done: number, total: number | null) => void;
  signal?: AbortSignal;
  /** Consecutive tries without progress before the download fails. Default 5. */
  attempts?: number;
  /** First delay between tries, in ms; doubles each time. Default 500. */
  backoffMs?: number;
}

/**
 * Downloads to `<target>.part` and renames it when the content is correct. The part of an interrupted run is kept,
 * hashed again and continued. A wrong hash, an oversized file or a full disk removes it.
 */
export async function downloadResumable(request: DownloadRequest): Promise<void> {
  if (existsSync(request.target)) return;
  await mkdir(dirname(request.target), { recursive: true });
  const partial = new PartialFile(request.target);
  for (let failures = 0, furthest = 0; ;) {
    try {
      await downloadOnce(request, partial);
      return;
    } catch (error) {
      request.signal?.throwIfAborted();
      if (!isConnectionError(error)) {
        await partial.remove();
        throw error;
      }
      const reached = await partial.bytes();
      // Reaching the same offset again after a part was discarded is not progress.
      failures = reached > furthest ? 1 : failures + 1;
      furthest = Math.max(furthest, reached);
      if (failures >= (request.attempts ?? 5)) throw pullError(`${request.name}: ${messageOf(error)}`, error);
      await delay((request.backoffMs ?? 500) * 2 ** (failures - 1), undefined, { signal: request.signal });
    }
  }
}

/** Deletes what an unfinished download of `target` left. */
export async function discardPart(target: string): Promise<void> {
  await new PartialFile(target).remove();
}

async function downloadOnce(request: DownloadRequest, partial: PartialFile): Promise<void> {
  let check = new ContentCheck(request.expected, request.name);
  const validator = await partial.validator();
  const { sha256, integrity } = request.expected;
  // If nothing would distinguish two versions of the file, an earlier part is not continued.
  if (validator === null && sha256 === undefined && integrity === undefined) await partial.remove();
  const present = await partial.bytes();
  const total = request.expected.bytes ?? null;
  if (present > 0) {
    const onBytes = (done: number) => request.onProgress('verify', done, present);
    await check.updateFromFile(partial.path, onBytes, request.signal);
  }
  if (present === 0 || present !== total) {
    const response = await request.open(present, validator);
    await partial.setValidator(response.validator);
    if (response.offset === 0 && present > 0) check = new ContentCheck(request.expected, request.name);
    await receive(request, partial, response, check);
  }
  check.verify();
  await rename(partial.path, request.target);
  await partial.remove();
}

async function receive(
  request: DownloadRequest,
  partial: PartialFile,
  response: RangeResponse,
  check: ContentCheck,
): Promise<void> {
  const total = response.totalBytes ?? request.expected.bytes ?? null;
  const limit = request.expected.bytes ?? request.maxBytes;
  if (total !== null && total > limit) throw tooLarge(request, total);
  const writer = await request.openWriter(partial.path, response.offset === 0 ? 'w' : 'a');
  try {
    for await (const chunk of interruptible(response.body)) {
      request.signal?.throwIfAborted();
      if (check.bytes + chunk.length > limit) throw tooLarge(request, check.bytes + chunk.length);
      await writer.write(chunk);
      check.update(chunk);
      request.onProgress('download', check.bytes, total);
    }
  } finally {
    await writer.close();
  }
  if (total !== null && check.bytes < total) {
    throw new InterruptedDownloadError(`the connection ended after ${check.bytes} of ${total} bytes`);
  }
}

/** Treats errors of the body as connection errors; those of the writer are unchanged. */
async function* interruptible(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      let step: IteratorResult<Uint8Array>;
      try {
        step = await iterator.next();
      } catch (error) {
        throw new InterruptedDownloadError(messageOf(error), { cause: error });
      }
      if (step.done) return;
      yield step.value;
    }
  } finally {
    await iterator.return?.();
  }
}

/** `<target>.part`, and a file beside it with its validator. */
class PartialFile {
  readonly path: string;
  private readonly validatorPath: string;

  constructor(target: string) {
    this.path = `${target}.part`;
    this.validatorPath = `${target}.part.tag`;
  }

  async bytes(): Promise<number> {
    return existsSync(this.path) ? (await stat(this.path)).size : 0;
  }

  async validator(): Promise<string | null> {
    return existsSync(this.validatorPath) ? readFile(this.validatorPath, 'utf8') : null;
  }

  async setValidator(validator: string | null): Promise<void> {
    if (validator === null) await rm(this.validatorPath, { force: true });
    else await writeFile(this.validatorPath, validator);
  }

  async remove(): Promise<void> {
    await rm(this.path, { force: true });
    await rm(this.validatorPath, { force: true });
  }
}

function tooLarge(request: DownloadRequest, bytes: number): Error {
  return pullError(
    `${request.name} has at least ${bytes} bytes; ${request.expected.bytes ?? request.maxBytes} are allowed.`,
  );
}

const connectionCodes =
  /^(ECONN|EAI_|ENOTFOUND|ETIMEDOUT|EPIPE|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET|UND_ERR_(?!INVALID_ARG|ABORTED))/;

function isConnectionError(error: unknown): boolean {
  if (error instanceof InterruptedDownloadError) return true;
  return error instanceof Error && connectionCodes.test(String((error as NodeJS.ErrnoException).code));
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : String(error);
}
