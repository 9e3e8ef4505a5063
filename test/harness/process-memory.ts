import { existsSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';

/** Whether the memory of other processes can be read here. */
export const memoryIsReadable = existsSync('/proc/self/mem');

const chunkBytes = 8 * 1024 * 1024;

/**
 * Returns which of the texts lie anywhere in the writable memory of a process, in one byte or two per character as V8
 * keeps strings: its heap, its buffers, and what they have freed. Texts are ASCII.
 */
export async function textsInMemory(pid: number, texts: readonly string[]): Promise<string[]> {
  const maps = await readFile(`/proc/${pid}/maps`, 'utf8');
  const forms = texts.map((text) => ({ text, bytes: [Buffer.from(text, 'latin1'), Buffer.from(text, 'utf16le')] }));
  const overlap = Math.max(0, ...forms.flatMap(({ bytes }) => bytes.map(({ length }) => length)));
  const found = new Set<string>();
  const memory = await open(`/proc/${pid}/mem`, 'r');
  try {
    for (const [, from = '', to = ''] of maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm)) {
      const end = Number.parseInt(to, 16);
      for (let at = Number.parseInt(from, 16); at < end; at += chunkBytes - overlap) {
        const buffer = Buffer.alloc(Math.min(chunkBytes, end - at));
        // A region may be unmapped meanwhile.
        const { bytesRead } = await memory.read(buffer, 0, buffer.length, at).catch(() => ({ bytesRead: 0 }));
        const read = buffer.subarray(0, bytesRead);
        for (const { text, bytes } of forms) if (bytes.some((form) => read.includes(form))) found.add(text);
      }
    }
  } finally {
    await memory.close();
  }
  return texts.filter((text) => found.has(text));
}
