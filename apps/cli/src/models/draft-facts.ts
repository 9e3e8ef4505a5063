import { totalmem } from 'node:os';
import { PlatformError } from '#common';
import {
  decoderMemory,
  type DecoderMemory,
  familyMemory,
  familyPeakBytes,
  peakBytes,
  runtimeBytes,
} from '#platform/memory';
import { type Draft, type DraftFacts, formatBytes } from '#model-store';

/** The default of `SLUICE_MEMORY_BUDGET`. */
const usableShare = 0.9;

/** What models may use of this machine's memory, in bytes. */
export function usableBytes(): number {
  return totalmem() * usableShare;
}

/** What a source holds and what serving it takes, for the operator. */
export function factsOf({ manifest, facts }: Draft): string[] {
  if (manifest.adapterOf !== undefined) {
    const memory = `memory: ${formatBytes(facts.weightsBytes)} beside ${manifest.adapterOf}`;
    return [`${manifest.id}: ${facts.summary}`, memory];
  }
  const context = manifest.contextLength === undefined ? '' : `; ${manifest.contextLength} tokens of context`;
  const rounding = facts.rounding === undefined ? [] : [facts.rounding];
  return [`${manifest.id}: ${facts.summary}${context}`, ...rounding, `memory: ${describeMemory(facts)}`];
}

function describeMemory(facts: DraftFacts): string {
  const { decoder, family } = facts;
  if (decoder === null) {
    const parts = family === undefined ? '' : `, ${formatBytes(familyMemory(family).work)} of it for requests`;
    return `${formatBytes(leastBytes(facts))} with weights and process${parts}`;
  }
  const { size, use } = decoder;
  const memory = decoderMemory(size, use);
  const parts: [keyof DecoderMemory, string][] = [
    ['process', 'for the process'],
    ['weights', 'for weights'],
    ['cache', `for the ${use.cacheTokens} tokens of ${use.slots} requests`],
    ['cacheCopies', 'for copies of those that end'],
    ['prefill', 'while prompts are computed'],
    ['logits', 'for scores of tokens'],
  ];
  const terms = parts.map(([part, text]) => `${formatBytes(memory[part])} ${text}`).join(', ');
  return `${formatBytes(leastBytes(facts))} with one request, up to ${formatBytes(peakBytes(memory))}: ${terms}`;
}

/** A model is served by one device. Refuses what this machine can never hold. */
export function assertFitsMachine({ manifest, facts }: Draft): void {
  const needed = leastBytes(facts);
  const usable = usableBytes();
  if (needed <= usable) return;
  const sizes = `it needs ${formatBytes(needed)}, and models may use ${formatBytes(usable)} of this machine's memory`;
  const ways = 'choose smaller --weights or --context, or add it with --register and install it on a larger worker';
  throw new PlatformError('INVALID_REQUEST', `${manifest.id} does not fit one device: ${sizes}; ${ways}.`);
}

/** What one request of the whole context takes. */
function leastBytes({ weightsBytes, decoder, family }: DraftFacts): number {
  if (decoder === null) return family === undefined ? weightsBytes + runtimeBytes : familyPeakBytes(family);
  const { size, use } = decoder;
  return peakBytes(decoderMemory(size, { ...use, slots: 1, cacheTokens: use.contextLength }));
}
