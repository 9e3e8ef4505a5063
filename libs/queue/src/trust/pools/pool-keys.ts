import { busPublicKeyOf } from '../bus/bus-keys.js';
import { busKeyName, keysOfModels } from '../seal/queue-keys.js';

/**
 * Returns the value of `SLUICE_QUEUE_KEY` for workers that serve these models alone: their keys, and those that verify what api
 * and ops send on the bus.
 */
export function poolKeys(installationKeys: readonly string[], modelIds: readonly string[]): string[] {
  const busKeys = installationKeys.map((key) => `${busKeyName}:${busPublicKeyOf(key)}`);
  return [...keysOfModels(installationKeys, modelIds), ...busKeys];
}
