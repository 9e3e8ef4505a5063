import { setImmediate } from 'node:timers/promises';
import { PlatformError } from '#common';
import { errorText } from '#common/values';
import { ConstraintCompiler } from '#inference';
import type { HostileConstraint } from './hostile-constraints.js';
import { type LoopSilence, measureSilence } from './loop-silence.js';
import { seededRandom } from './seeded-random.js';
import type { wordTrie } from './word-trie.js';

/** Most processor time between two turns of the event loop, in ms. Slices have 4 ms; collections of garbage on all threads count. */
export const maxSilenceMs = 300;
/** Most growth of the heap, garbage included, in MiB: one constraint may have 600,000 objects. */
export const maxHeapMiB = 600;

const sliceMs = 4;

export interface HostileResult extends LoopSilence {
  name: string;
  /** Null where it compiled. */
  refusal: string | null;
  /** What is wrong; empty where nothing is. */
  faults: string[];
}

/** Compiles a constraint and writes a random text by it, as the scheduler does: a slice of work between two steps. */
export async function runHostileConstraint(
  trie: ReturnType<typeof wordTrie>,
  { name, constraint }: HostileConstraint,
  tokens = 20,
  maxMs = maxSilenceMs,
): Promise<HostileResult> {
  let refusal: string | null = null;
  const faults: string[] = [];
  const silence = await measureSilence(async () => {
    try {
      const compiled = await new ConstraintCompiler(trie).compile(constraint);
      await writeText(compiled.newMatcher([0]), tokens);
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== 'INVALID_REQUEST') faults.push(`threw ${String(error)}`);
      refusal = errorText(error);
    }
  });
  if (silence.longestMs > maxMs) faults.push(`the event loop stood still for ${silence.longestMs} ms`);
  if (silence.heapMiB > maxHeapMiB) faults.push(`the heap grew by ${silence.heapMiB} MiB`);
  return { name, refusal, faults, ...silence };
}

type Matcher = ReturnType<Awaited<ReturnType<ConstraintCompiler['compile']>>['newMatcher']>;

async function writeText(matcher: Matcher, tokens: number): Promise<void> {
  const random = seededRandom(tokens);
  for (let count = 0; count < tokens; count++) {
    while (!matcher.prepare(sliceMs)) await setImmediate();
    if (matcher.isFinished()) return;
    const { bits } = matcher.allowed();
    const ids: number[] = [];
    for (let id = 0; id < bits.length * 32; id++) if (((bits[id >> 5] ?? 0) >>> (id & 31)) & 1) ids.push(id);
    const chosen = ids[Math.floor(random() * ids.length)];
    if (chosen === undefined) return;
    matcher.accept(chosen);
    await setImmediate();
  }
}
