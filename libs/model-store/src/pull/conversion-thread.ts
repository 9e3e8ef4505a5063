import { parentPort, workerData } from 'node:worker_threads';
import { PlatformError, type WireError } from '#common';
import { errorText } from '#common/values';
import { type ConversionProgress, type ConversionResult, type ConverterKind, convertModel } from '../convert/index.js';

/** Start parameters of the thread. */
export interface ConversionThreadInput {
  kind: ConverterKind;
  options: Record<string, string | number | boolean>;
  inputFolder: string;
  outputFolder: string;
  resumeKey: string;
  baseFolder?: string;
}

export type ConversionThreadMessage =
  | { type: 'progress'; progress: ConversionProgress }
  | { type: 'done'; result: ConversionResult }
  | { type: 'failed'; wire: WireError | null; message: string; systemCode: string | undefined };

/** Minimum interval of progress messages; a few per second are enough for a progress bar. */
const progressIntervalMs = 100;

async function main(): Promise<void> {
  const send = (message: ConversionThreadMessage) => parentPort?.postMessage(message);
  let lastSentMs = 0;
  try {
    const result = await convertModel({
      ...(workerData as ConversionThreadInput),
      onProgress: (progress) => {
        const nowMs = performance.now();
        if (progress.done < progress.total && nowMs - lastSentMs < progressIntervalMs) return;
        lastSentMs = nowMs;
        send({ type: 'progress', progress });
      },
    });
    send({ type: 'done', result });
  } catch (error) {
    send({
      type: 'failed',
      wire: error instanceof PlatformError ? error.toWire() : null,
      message: errorText(error),
      systemCode: error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined,
    });
  }
}

await main();
