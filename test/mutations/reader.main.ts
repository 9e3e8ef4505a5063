import { PlatformError } from '#common';
import { measurePeak } from '#test/measure-peak';
import type { Format } from './formats.js';
import { readFile } from './readers.js';

/*
 * A process that reads mutated files as a platform process does, one after the other, and reports how each reading
 * ended. A crash of it is one of a platform process.
 */

export interface ReadOrder {
  format: Format;
  bytes: Uint8Array;
  /** Folder of the corpus. */
  corpus: string;
}

export interface ReadReport {
  /** `late`: the reader's own time limit ended it. `broken`: an error that no caller should get. */
  end: 'read' | 'refused' | 'late' | 'broken';
  detail: string;
}

/** Errors that blame the platform. */
const ownFaults: readonly string[] = ['UNKNOWN_ERROR', 'INFERENCE_FAILED', 'SERVICE_UNAVAILABLE', 'DEVICE_LOST'];

/** More than any reader needs for a file of some kilobytes. */
const maxGrowthBytes = 600e6;

/** Elsewhere nothing tells the peak of one reading. */
const isLinux = process.platform === 'linux';

async function read(order: ReadOrder): Promise<ReadReport> {
  if (!isLinux) return await readOnce(order);
  let report: ReadReport = { end: 'broken', detail: 'was not read' };
  const growth = await measurePeak(process.pid, async () => void (report = await readOnce(order)));
  if (growth < maxGrowthBytes) return report;
  return { end: 'broken', detail: `took ${Math.round(growth / 1e6)} MB of memory, then: ${report.detail}` };
}

async function readOnce({ format, bytes, corpus }: ReadOrder): Promise<ReadReport> {
  try {
    await readFile(format, Buffer.from(bytes), corpus);
    return { end: 'read', detail: '' };
  } catch (error) {
    const isPlain = error instanceof PlatformError && !ownFaults.includes(error.code);
    const cause = error instanceof Error ? (error.cause as { detail?: string } | undefined) : undefined;
    const detail = `${error instanceof Error ? (error.stack ?? error.message) : String(error)} ${cause?.detail ?? ''}`;
    if (!isPlain) return { end: 'broken', detail };
    const isLate = error.code === 'REQUEST_TIMEOUT' || error.message.includes('takes too long');
    return { end: isLate ? 'late' : 'refused', detail: error.message };
  }
}

process.on('message', (order: ReadOrder) => {
  void read(order).then((report) => process.send?.(report));
});
process.send?.({ end: 'read', detail: 'ready' } satisfies ReadReport);
