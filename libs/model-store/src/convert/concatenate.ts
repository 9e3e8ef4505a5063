import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

export interface ConcatenateRequest {
  /** Absolute paths, in order. */
  parts: string[];
  /** Absolute path of the joined file; replaced when it exists. */
  target: string;
  /** Bytes joined so far. */
  onBytes?: (done: number) => void;
  signal?: AbortSignal;
}

/**
 * Joins the parts of a sharded file by streaming. Leaves no target after a failure or an abort. Returns the number of
 * bytes.
 */
export async function concatenateFiles(request: ConcatenateRequest): Promise<number> {
  const { parts, target, onBytes, signal } = request;
  let done = 0;
  async function* bytes(): AsyncGenerator<Buffer> {
    for (const part of parts) {
      for await (const chunk of createReadStream(part, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
        yield chunk;
        done += chunk.length;
        onBytes?.(done);
      }
    }
  }
  try {
    await pipeline(bytes, createWriteStream(target), { signal });
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  }
  return done;
}
