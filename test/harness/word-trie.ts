import { buildTokenTrie } from '#inference';
import { seededRandom } from './seeded-random.js';

/** The trie of a vocabulary like those of models: all bytes, and words of a few characters. Token 0 ends a text. */
export function wordTrie(size: number): ReturnType<typeof buildTokenTrie> {
  const random = seededRandom(7);
  const letters = ' etaoinshrdlucmfwypvbgkjqxz0123456789"{}[]:,._-\n';
  const word = (): string =>
    Array.from(
      { length: 1 + Math.floor(random() * 7) },
      () => letters[Math.floor(random() ** 2 * letters.length)],
    ).join('');
  const words = new Set<string>();
  while (words.size < size - 257) words.add(word());
  const bytes = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
  return buildTokenTrie([new Uint8Array(0), ...bytes, ...[...words].map((text) => Buffer.from(text))], new Set([0]));
}
