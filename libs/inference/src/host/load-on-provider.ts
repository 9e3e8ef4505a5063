import { PlatformError } from '#common';
import { errorText } from '#common/values';
import { plainReason } from '../runtime/plain-reason.js';
import type { HostLoadOptions, LoadedEngine } from '../contract/engine-loader.js';

export interface LoadSteps {
  load(options: HostLoadOptions): Promise<LoadedEngine>;
  /** Runs a loaded model for the first time. Rejects if that fails. */
  firstRun(loaded: LoadedEngine): Promise<void>;
}

/**
 * Loads a model on the first provider of the list on which it also runs: a provider may take a graph and then lack an
 * operator or a type, which shows at the first run only. `providerNote` tells why others were skipped. Rejects with the
 * reasons of all of them.
 */
export async function loadOnProvider(options: HostLoadOptions, steps: LoadSteps): Promise<LoadedEngine> {
  try {
    return await loadAndRun(options, steps);
  } catch (error) {
    // The runtime gives a reason for a run that failed, also for one that was part of the load.
    if (options.providers.length < 2 || reasonOf(error) === undefined) throw error;
  }
  const skipped: string[] = [];
  for (const provider of options.providers) {
    try {
      const loaded = await loadAndRun({ ...options, providers: [provider] }, steps);
      return { ...loaded, providerNote: skipped.length === 0 ? null : skipped.join('; ') };
    } catch (error) {
      skipped.push(`${provider} skipped: ${reasonOf(error) ?? plainReason(causeOf(error))}`);
    }
  }
  const reason = skipped.join('; ');
  throw new PlatformError('INFERENCE_FAILED', 'The model runs on none of the providers.', null, { reason });
}

/** What the runtime said of a failure, for the operator; of others the message. */
export function explainError(error: unknown): string {
  return reasonOf(error) ?? errorText(error);
}

function reasonOf(error: unknown): string | undefined {
  return error instanceof PlatformError ? error.reason : undefined;
}

function causeOf(error: unknown): unknown {
  return error instanceof PlatformError ? (error.cause ?? error) : error;
}

async function loadAndRun(options: HostLoadOptions, { load, firstRun }: LoadSteps): Promise<LoadedEngine> {
  const loaded = await load(options);
  try {
    await firstRun(loaded);
    return loaded;
  } catch (error) {
    await loaded.engine.close();
    throw error;
  }
}
