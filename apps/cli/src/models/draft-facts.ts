import { totalmem } from 'node:os';
import { PlatformError } from '#common';
import { type Draft, formatBytes } from '#model-store';

/** Of each model host, beside weights and cache. */
export const hostBytes = 96 * 1024 * 1024;
/** The default of `SLUICE_MEMORY_BUDGET`. */
const usableShare = 0.9;

/** What models may use of this machine's memory, in bytes. */
export function usableBytes(): number {
  return totalmem() * usableShare;
}

/** What a source holds and what serving it takes, for the operator. */
export function factsOf({ manifest, facts }: Draft): string[] {
  const { cacheBytes, cacheTokens } = facts;
  if (manifest.adapterOf !== undefined) {
    const memory = `memory: ${formatBytes(facts.weightsBytes)} beside ${manifest.adapterOf}`;
    return [`${manifest.id}: ${facts.summary}`, memory];
  }
  const cache =
    cacheBytes === null || cacheTokens === 0
      ? ''
      : `, up to ${formatBytes(cacheBytes)} for the ${cacheTokens} tokens of all requests`;
  const context = manifest.contextLength === undefined ? '' : `; ${manifest.contextLength} tokens of context`;
  return [
    `${manifest.id}: ${facts.summary}${context}`,
    `memory: ${formatBytes(facts.weightsBytes + hostBytes)} for weights and process${cache}`,
  ];
}

/** A model is served by one device. Refuses what this machine can never hold. */
export function assertFitsMachine({ manifest, facts }: Draft): void {
  const needed = facts.weightsBytes + hostBytes;
  const usable = usableBytes();
  if (needed <= usable) return;
  const sizes = `it needs ${formatBytes(needed)}, and models may use ${formatBytes(usable)} of this machine's memory`;
  const ways = 'choose smaller --weights, or add it with --register and install it on a larger worker';
  throw new PlatformError('INVALID_REQUEST', `${manifest.id} does not fit one device: ${sizes}; ${ways}.`);
}
