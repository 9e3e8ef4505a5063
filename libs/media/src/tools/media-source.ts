import { open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MediaTools } from './media-tools.js';

/** Audio or video input: its bytes, or a local file that does not change meanwhile. */
export type MediaSource = Uint8Array | { path: string };

/** Number of bytes that identify formats and contain simple headers. */
const headBytes = 65_536;

/** Returns the first bytes of a source. */
export async function headOf(source: MediaSource): Promise<{ head: Buffer; totalBytes: number }> {
  if (source instanceof Uint8Array) {
    const bytes = Buffer.from(source.buffer, source.byteOffset, Math.min(headBytes, source.byteLength));
    return { head: bytes, totalBytes: source.byteLength };
  }
  const handle = await open(source.path, 'r');
  try {
    const { size } = await handle.stat();
    const buffer = Buffer.alloc(Math.min(headBytes, size));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    return { head: buffer.subarray(0, bytesRead), totalBytes: size };
  } finally {
    await handle.close();
  }
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
