import { open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findContainer, maxTags, type MediaContainer } from './containers.js';
import type { MediaTools } from './media-tools.js';
import { tagBytes } from './tags.js';

/** Audio or video input: its bytes, or a local file that does not change meanwhile. */
export type MediaSource = Uint8Array | { path: string };

/** Number of bytes that identify formats and contain simple headers. */
const headBytes = 65_536;

/** Returns the first bytes of a source, or those from an offset on. */
export async function headOf(source: MediaSource, offset = 0): Promise<{ head: Buffer; totalBytes: number }> {
  if (source instanceof Uint8Array) {
    const bytes = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
    return { head: bytes.subarray(offset, offset + headBytes), totalBytes: source.byteLength };
  }
  const handle = await open(source.path, 'r');
  try {
    const { size } = await handle.stat();
    const buffer = Buffer.alloc(Math.max(0, Math.min(headBytes, size - offset)));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset);
    return { head: buffer.subarray(0, bytesRead), totalBytes: size };
  } finally {
    await handle.close();
  }
}

/** A source whose container was found. */
export interface IdentifiedMedia {
  /** Null if unknown. */
  container: MediaContainer | null;
  /** Bytes in front of the container: tags, and the rest of a cut frame. */
  skipBytes: number;
  /** First bytes of the container. */
  head: Buffer;
  /** Size of the source. */
  totalBytes: number;
}

/** Finds the container of a source as `sniffContainer` does, wherever its tags end. */
export async function identifyMedia(source: MediaSource): Promise<IdentifiedMedia> {
  let skipBytes = 0;
  let { head, totalBytes } = await headOf(source);
  for (let tags = 0; tags < maxTags; tags += 1) {
    const tag = tagBytes(head);
    // A tag that states more than there is was cut, or is none.
    if (tag === 0 || skipBytes + tag >= totalBytes) break;
    skipBytes += tag;
    ({ head, totalBytes } = await headOf(source, skipBytes));
  }
  const found = findContainer(head);
  const offset = found?.offset ?? 0;
  return {
    container: found?.container ?? null,
    skipBytes: skipBytes + offset,
    head: head.subarray(offset),
    totalBytes,
  };
}

/** Provides a source as a file until it is released, because tools must seek in most containers. */
export interface LentFile {
  path: string;
  release(): Promise<void>;
}

export async function lendFile(tools: MediaTools, source: MediaSource): Promise<LentFile> {
  if (!(source instanceof Uint8Array)) return { path: source.path, release: () => Promise.resolve() };
  const folder = await tools.makeFolder();
  const path = join(folder, 'input');
  const release = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    await writeFile(path, source, { mode: 0o600 });
  } catch (error) {
    await release();
    throw error;
  }
  return { path, release };
}
