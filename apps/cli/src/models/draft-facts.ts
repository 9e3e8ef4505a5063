import { totalmem } from 'node:os';
import { PlatformError } from '#common';
import { decoderMemory, type DecoderMemory, familyHostMemory, peakBytes, runtimeBytes } from '#model-memory';
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
  const notes = [facts.choice, facts.ignored, facts.rounding].filter((note) => note !== undefined);
  const smaller = describeSmaller(facts);
  const memory = [`memory: ${describeMemory(facts)}`, ...(smaller === null ? [] : [smaller])];
  return [`${manifest.id}: ${facts.summary}${context}`, ...notes, ...memory];
}

/** Returns the memory of one request with smaller weights; null where the draft has small ones. */
function describeSmaller({ decoder, smaller }: DraftFacts): string | null {
  if (decoder === null || smaller === undefined) return null;
  const sizes = smaller.map(({ weights, size }) => {
    return `${formatBytes(leastDecoderBytes({ ...decoder, size }))} with --weights ${weights}`;
  });
  return `smaller: ${sizes.join(', ')}`;
}

function describeMemory(facts: DraftFacts): string {
  const { decoder, family } = facts;
  if (decoder === null) {
    const { fullBytes } = family === undefined ? { fullBytes: 0 } : familyHostMemory(family.size, family.contextLength);
    const least = leastBytes(facts);
    return `${formatBytes(least)}${fullBytes > least ? `, up to ${formatBytes(fullBytes)} for the largest requests` : ''}`;
  }
  const { size, use } = decoder;
  const memory = decoderMemory(size, use);
  const parts: [keyof DecoderMemory, string][] = [
    ['process', 'for the process'],
    ['weights', 'for weights'],
    ['cache', `for the ${use.cacheTokens} tokens of ${use.slots} requests`],
    ['states', 'for states of layers'],
    ['cacheCopies', 'for copies of those that end'],
    ['prefill', 'while prompts are computed'],
    ['logits', 'for scores of tokens'],
    ['image', 'while an image is read'],
  ];
  const optional: readonly (keyof DecoderMemory)[] = ['states', 'image'];
  const counted = parts.filter(([part]) => !optional.includes(part) || memory[part] > 0);
  const terms = counted.map(([part, text]) => `${formatBytes(memory[part])} ${text}`).join(', ');
  return `${formatBytes(leastBytes(facts))} with one request, up to ${formatBytes(peakBytes(memory))}: ${terms}`;
}

/** A model is served by one device. Refuses what this machine can never hold. */
export function assertFitsMachine({ manifest, facts }: Draft): void {
  const needed = leastBytes(facts);
  const usable = usableBytes();
  if (needed <= usable) return;
  const sizes = `it needs ${formatBytes(needed)}, and models may use ${formatBytes(usable)} of this machine's memory`;
  const elsewhere = 'add it with --register and install it on a larger worker';
  const smaller = describeSmaller(facts);
  const choice =
    smaller === null ? 'choose smaller --weights or --context' : `choose smaller --weights or --context (${smaller})`;
  const isConverted = manifest.converter.options?.['weights'] !== undefined;
  const ways = isConverted ? `${choice}, or ${elsewhere}` : elsewhere;
  throw new PlatformError('INVALID_REQUEST', `${manifest.id} does not fit one device: ${sizes}; ${ways}.`);
}

/** What the model needs at least: a text model, one request of the whole context. */
function leastBytes({ weightsBytes, decoder, family }: DraftFacts): number {
  if (decoder === null) {
    if (family === undefined) return weightsBytes + runtimeBytes;
    return familyHostMemory(family.size, family.contextLength).leastBytes;
  }
  return leastDecoderBytes(decoder);
}

function leastDecoderBytes({ size, use }: NonNullable<DraftFacts['decoder']>): number {
  return peakBytes(decoderMemory(size, { ...use, slots: 1, cacheTokens: use.contextLength }));
}
