import { readFile } from 'node:fs/promises';
import { decodeBase64, decodeImage, decodeWholeAudio, MediaTools, probeAudio, probeVideo } from '#media';

/*
 * A child process that opens decompression bombs one after another and reports each result and its memory over its
 * channel. In the test's own process the memory of the test would count.
 */

export interface BombTask {
  kind: 'image' | 'audio' | 'video' | 'base64';
  path: string;
}

export interface BombReport {
  /** Error code; null: it was opened. */
  code: string | null;
  /** Peak memory growth of the process. */
  grownBytes: number;
  elapsedMs: number;
}

const tools = await MediaTools.find();

/** The measured operation; reading the bomb from disk is excluded. */
function fuse({ kind, path }: BombTask, bytes: Buffer): () => unknown {
  if (kind === 'image') return () => decodeImage(bytes, { channels: 3, maxBytes: 25_000_000 });
  if (kind === 'video') return () => probeVideo(tools, { path }, { maxSeconds: 300 });
  if (kind === 'audio') {
    // As in the API, then in the worker.
    return async () => {
      await probeAudio(tools, bytes, { maxSeconds: 3_600 });
      await decodeWholeAudio(tools, bytes, { sampleRate: 16_000, maxSeconds: 3_600 });
    };
  }
  const text = bytes.toString('latin1');
  return () => decodeBase64(text, { maxBytes: 25_000_000 });
}

async function gauge(task: BombTask): Promise<BombReport> {
  const light = fuse(task, await readFile(task.path));
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  let largest = before;
  const timer = setInterval(() => (largest = Math.max(largest, process.memoryUsage().rss)), 1);
  const startedAtMs = performance.now();
  const code = await codeOf(light);
  const elapsedMs = performance.now() - startedAtMs;
  clearInterval(timer);
  return { code, grownBytes: Math.max(largest, process.memoryUsage().rss) - before, elapsedMs };
}

async function codeOf(light: () => unknown): Promise<string | null> {
  try {
    await light();
    return null;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

process.on('message', (task: BombTask) => {
  void gauge(task).then((report) => process.send?.(report));
});
process.send?.('ready');
