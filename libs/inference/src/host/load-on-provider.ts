import { PlatformError } from '#common';
import { errorText } from '#common/values';
import type { HostLoadOptions, LoadedEngine } from '../contract/engine-loader.js';

export interface LoadSteps {
  load(options: HostLoadOptions): Promise<LoadedEngine>;
  /** Runs a loaded model for the first time. Rejects if that fails. */
  firstRun(loaded: LoadedEngine): Promise<void>;
}

/**
 * Loads a model on the first provider of the list on which it also runs: a provider may take a graph and then lack an
 * operator or a type, which shows at the first run. `providerNote` tells why others were skipped. Rejects with the
 * reasons of all of them.
 */
export async function loadOnProvider(options: HostLoadOptions, { load, firstRun }: LoadSteps): Promise<LoadedEngine> {
  const skipped: string[] = [];
  for (let providers = options.providers; ;) {
    const loaded = await load({ ...options, providers }).catch((error: unknown) => {
      throw withReasons(error, skipped);
    });
    const notes = [...skipped, ...(loaded.providerNote === null ? [] : [loaded.providerNote])];
    try {
      await firstRun(loaded);
      return { ...loaded, providerNote: notes.length === 0 ? null : notes.join('; ') };
    } catch (error) {
      const later = providers.slice(providers.indexOf(loaded.provider) + 1);
      if (later.length === 0 || !providers.includes(loaded.provider)) throw withReasons(error, notes);
      await loaded.engine.close();
      skipped.splice(0, Infinity, ...notes, `${loaded.provider} skipped: its first run failed: ${explainError(error)}`);
      providers = later;
    }
  }
}

/** The message of an error and what the runtime said, for the operator. */
export function explainError(error: unknown): string {
  const reason = error instanceof PlatformError ? error.reason : undefined;
  return reason ?? errorText(error);
}

function withReasons(error: unknown, notes: readonly string[]): unknown {
  if (notes.length === 0) return error;
  const { code, message } = PlatformError.from(error, 'INFERENCE_FAILED');
  return new PlatformError(code, message, null, { cause: error, reason: [...notes, explainError(error)].join('; ') });
}
