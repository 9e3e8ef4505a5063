/** A trained byte-pair encoding: symbols in creation order, and the pairs they were merged from. */
export interface TrainedBpe {
  symbols: string[];
  merges: [string, string][];
}

/**
 * Learns `mergeCount` byte-pair merges: the most frequent adjacent pair becomes a symbol. Ties go to the first pair in
 * code-point order, so that the result is deterministic.
 */
export function trainBpe(words: string[][], mergeCount: number): TrainedBpe {
  let sequences = words;
  const symbols = [...new Set(words.flat())].sort();
  const merges: [string, string][] = [];
  while (merges.length < mergeCount) {
    const best = mostFrequentPair(sequences);
    if (!best) break;
    const joined = best[0] + best[1];
    merges.push(best);
    if (!symbols.includes(joined)) symbols.push(joined);
    sequences = sequences.map((sequence) => mergePair(sequence, best));
  }
  return { symbols, merges };
}

function mostFrequentPair(sequences: string[][]): [string, string] | null {
  const counts = new Map<string, number>();
  for (const sequence of sequences) {
    for (let index = 0; index + 1 < sequence.length; index++) {
      const pair = `${sequence[index]}\u0000${sequence[index + 1]}`;
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
  }
  const [best] = [...counts].sort(
    ([left, leftCount], [right, rightCount]) => rightCount - leftCount || (left < right ? -1 : 1),
  );
  if (!best || best[1] < 2) return null;
  const [left = '', right = ''] = best[0].split('\u0000');
  return [left, right];
}

function mergePair(sequence: string[], [left, right]: [string, string]): string[] {
  const merged: string[] = [];
  for (let index = 0; index < sequence.length; index++) {
    if (sequence[index] === left && sequence[index + 1] === right) {
      merged.push(left + right);
      index += 1;
    } else {
      merged.push(sequence[index] ?? '');
    }
  }
  return merged;
}
