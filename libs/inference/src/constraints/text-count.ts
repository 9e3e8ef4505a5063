import { checkDeadline } from './compile-deadline.js';
import type { Regex, RegexArena } from './regex.js';

/** What is known of how many texts languages have. */
const known = new WeakMap<Regex, { moreThan: number; atMost: number }>();

/** Whether a language has more than `count` texts. Lengths one after the other, until there are, or none is longer. */
export function hasMoreTexts(arena: RegexArena, regex: Regex, count: number): boolean {
  const bounds = known.get(regex) ?? { moreThan: -1, atMost: Infinity };
  known.set(regex, bounds);
  if (count <= bounds.moreThan) return true;
  if (count >= bounds.atMost) return false;
  const hasMore = countBeyond(arena, regex, count);
  if (hasMore) bounds.moreThan = count;
  else bounds.atMost = count;
  return hasMore;
}

function countBeyond(arena: RegexArena, regex: Regex, count: number): boolean {
  const { of, samples } = arena.classes;
  const sizes = samples.map(() => 0);
  for (const byteClass of of) sizes[byteClass] = (sizes[byteClass] ?? 0) + 1;
  let found = 0;
  /** Expressions behind all beginnings of one length, with the number of those; more than enough is enough. */
  let layer = new Map([[regex, 1]]);
  while (layer.size > 0) {
    const next = new Map<Regex, number>();
    for (const [at, ways] of layer) {
      if (at.nullable) found += ways;
      if (found > count) return true;
      for (const [byteClass, byte] of samples.entries()) {
        checkDeadline();
        const derivative = arena.derive(at, byte);
        if (derivative === arena.empty || !arena.isLive(derivative)) continue;
        next.set(derivative, Math.min(count + 1, (next.get(derivative) ?? 0) + ways * (sizes[byteClass] ?? 0)));
      }
    }
    layer = next;
  }
  return false;
}

/** Whether a text belongs to a language. */
export function hasText(arena: RegexArena, regex: Regex, text: string): boolean {
  return new TextEncoder().encode(text).reduce((at, byte) => arena.derive(at, byte), regex).nullable;
}
