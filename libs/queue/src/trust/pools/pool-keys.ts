import { busPublicKeyOf } from '../bus/bus-keys.js';
import { busKeyName, keysOfModels } from '../seal/queue-keys.js';

/**
 * Returns the value of `SLUICE_QUEUE_KEY` for workers that serve only these models: the keys of the models, and the
 * keys that verify what api and ops send on the bus.
 */
export function poolKeys(installationKeys: readonly string[], modelIds: readonly string[]): string[] {
  const busKeys = installationKeys.map((key) => `${busKeyName}:${busPublicKeyOf(key)}`);
  return [...keysOfModels(installationKeys, modelIds), ...busKeys];
}
