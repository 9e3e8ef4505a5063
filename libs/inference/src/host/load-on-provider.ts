import { PlatformError } from '#common';
import { errorText } from '#common/values';
import { GraphRunError } from '../runtime/graph-run-error.js';
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
  const { providers, skippedProviders = [] } = options;
  // A list that ends on the processor always leaves it.
  if (providers.length === 0) throw noProvider([...skippedProviders, 'cpu is not among the providers']);
  try {
    return withNotes(await loadOnOneOf(options, steps), skippedProviders);
  } catch (error) {
    throw skippedProviders.length === 0 ? error : noProvider([...skippedProviders, explainError(error)]);
  }
}

async function loadOnOneOf(options: HostLoadOptions, steps: LoadSteps): Promise<LoadedEngine> {
  const failed = new Map<string, string>();
  try {
    return await loadAndRun(options, steps);
  } catch (error) {
    // The runtime gives a reason for a run that failed, also for one that was part of the load.
    const reason = reasonOf(error);
    if (options.providers.length < 2 || reason === undefined) throw error;
    if (error instanceof FirstRunFailed || error instanceof GraphRunError) failed.set(error.provider, reason);
  }
  const skipped: string[] = [];
  for (const provider of options.providers) {
    let reason = failed.get(provider);
    try {
      if (reason === undefined) {
        return withNotes(await loadAndRun({ ...options, providers: [provider] }, steps), skipped);
      }
    } catch (error) {
      reason = reasonOf(error) ?? plainReason(causeOf(error));
    }
    skipped.push(`${provider} skipped: ${reason}`);
  }
  throw noProvider(skipped);
}

function withNotes(loaded: LoadedEngine, skipped: readonly string[]): LoadedEngine {
  const notes = [...skipped, ...(loaded.providerNote === null ? [] : [loaded.providerNote])];
  return { ...loaded, providerNote: notes.length === 0 ? null : notes.join('; ') };
}

function noProvider(skipped: readonly string[]): PlatformError {
  const reason = skipped.join('; ');
  return new PlatformError('INFERENCE_FAILED', 'The model runs on none of the providers.', null, { reason });
}

/** A first run that failed, with the provider on which it did. */
class FirstRunFailed extends PlatformError {
  constructor(
    readonly provider: string,
    { code, message, param, reason }: PlatformError,
  ) {
    super(code, message, param, { ...(reason !== undefined && { reason }) });
  }
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
    throw error instanceof PlatformError ? new FirstRunFailed(loaded.provider, error) : error;
  }
}
