import { open } from 'node:fs/promises';
import { PlatformError } from '#common';
import { type AudioFormat, audioHeadBytes, withAudioLength } from '#media';

/**
 * Writes encoded audio into a new file, and its length into the header once it is complete. `samples` is called at the
 * end. Rejects with `STORAGE_FULL` when the disk is full, and as `parts` does; the caller deletes the file.
 */
export async function writeAudioFile(
  path: string,
  parts: AsyncIterable<Uint8Array>,
  { format, samples }: { format: AudioFormat; samples: () => number },
): Promise<void> {
  const file = await open(path, 'w+', 0o600);
  try {
    let bytes = 0;
    for await (const part of parts) {
      await file.writeFile(part);
      bytes += part.length;
    }
    const { buffer, bytesRead } = await file.read(Buffer.alloc(audioHeadBytes), 0, audioHeadBytes, 0);
    const head = withAudioLength(buffer.subarray(0, bytesRead), { format, bytes, samples: samples() });
    await file.write(head, 0, head.length, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    throw new PlatformError('STORAGE_FULL', 'The service has no storage left for this audio at the moment.');
  } finally {
    await file.close();
  }
}
