import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ContentCheck, type ExpectedContent } from './digest.js';
import type { FileWriterFactory } from './file-writer.js';

export interface VerifiedFileRequest {
  chunks: AsyncIterable<Uint8Array>;
  target: string;
  /** For messages. */
  name: string;
  expected: ExpectedContent;
  openWriter: FileWriterFactory;
  onBytes: (done: number) => void;
  signal?: AbortSignal;
}

/** Writes a local stream to `target`, which appears only if its content is correct. A failure leaves nothing. */
export async function writeVerifiedFile(request: VerifiedFileRequest): Promise<void> {
  const partial = `${request.target}.part`;
  await mkdir(dirname(request.target), { recursive: true });
  try {
    await writeChecked(partial, request);
    await rename(partial, request.target);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

async function writeChecked(partial: string, request: VerifiedFileRequest): Promise<void> {
  const check = new ContentCheck(request.expected, request.name);
  const writer = await request.openWriter(partial, 'w');
  try {
    for await (const chunk of request.chunks) {
      request.signal?.throwIfAborted();
      check.update(chunk);
      await writer.write(chunk);
      request.onBytes(check.bytes);
    }
  } finally {
    await writer.close();
  }
  check.verify();
}
