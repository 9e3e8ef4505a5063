const vocabulary =
  'the quick brown fox jumps over a lazy dog while many people in Paris read news about science and music at home every day after long work hours'.split(
    ' ',
  );

/** Deterministic per seed, so that all subjects embed the same texts in a round. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

/** Texts of 4 to 180 words, mostly short, like search queries and passages; the median has 32 tokens. */
export function textsOfRound(round: number, count: number): string[] {
  const random = seeded(round * 7_919 + 5);
  return Array.from({ length: count }, () => {
    const words = Math.min(180, Math.max(4, Math.round(Math.exp(2.2 + random() * 2.4))));
    return Array.from({ length: words }, () => vocabulary[Math.floor(random() * vocabulary.length)] ?? '').join(' ');
  });
}

/** Texts by request. */
export function inRequests(texts: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(texts.length / size) }, (_value, at) =>
    texts.slice(at * size, (at + 1) * size),
  );
}
