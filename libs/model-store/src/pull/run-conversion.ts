import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { PlatformError } from '#common';
import { type ConversionProgress, type ConversionResult, convertModel } from '../convert/index.js';
import { pullError } from '../source/pull-error.js';
import type { ConversionThreadInput, ConversionThreadMessage } from './conversion-thread.js';

export interface RunConversionRequest extends ConversionThreadInput {
  onProgress: (progress: ConversionProgress) => void;
  signal?: AbortSignal;
}

/**
 * Converts in a thread. A conversion computes for minutes, while the pulling process also supervises children, draws
 * bars and renews its lock. Unbuilt sources (tests) convert small models in the same thread.
 */
export function runConversion(request: RunConversionRequest): Promise<ConversionResult> {
  const script = new URL('./conversion-thread.js', import.meta.url);
  const isBuilt = fileURLToPath(import.meta.url).endsWith('.js');
  return isBuilt ? convertInThread(script, request) : convertModel(request);
}

function convertInThread(script: URL, request: RunConversionRequest): Promise<ConversionResult> {
  const { onProgress, signal, ...input } = request;
  const thread = new Worker(script, { workerData: input });
  return new Promise<ConversionResult>((resolve, reject) => {
    const abort = () => reject(signal?.reason as Error);
    signal?.addEventListener('abort', abort, { once: true });
    thread.on('message', (message: ConversionThreadMessage) => {
      if (message.type === 'progress') onProgress(message.progress);
      else if (message.type === 'done') resolve(message.result);
      else reject(threadError(message));
    });
    thread.on('error', reject);
    thread.on('exit', (code) => reject(pullError(`The conversion ended early (exit ${code}).`)));
  }).finally(() => void thread.terminate());
}

function threadError(failed: Extract<ConversionThreadMessage, { type: 'failed' }>): Error {
  if (failed.wire) return PlatformError.fromWire(failed.wire);
  return Object.assign(new Error(failed.message), { code: failed.systemCode });
}
