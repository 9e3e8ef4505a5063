const maxTerms = 24;

/** The words of a question that can be looked for; pairs of letters in scripts that have no spaces. */
function termsOf(question: string): string[] {
  const words =
    question
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const terms = words.flatMap((word) =>
    /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}]/u.test(word) ? pairs(word) : [word],
  );
  return [...new Set(terms.filter((term) => term.length > 1))].slice(0, maxTerms);
}

function pairs(word: string): string[] {
  const letters = [...word];
  return letters.slice(1).map((letter, index) => `${letters[index]}${letter}`);
}

/** Scores passages by the words that they share with a question: rare words count most, repeated ones little. */
export function scoreByWords(question: string, passages: readonly string[]): number[] {
  const texts = passages.map((passage) => passage.normalize('NFKC').toLowerCase());
  const scores = texts.map(() => 0);
  for (const term of termsOf(question)) {
    const counts = texts.map((text) => text.split(term).length - 1);
    const holding = counts.filter((count) => count > 0).length;
    const rarity = Math.log(1 + texts.length / (1 + holding));
    for (const [index, count] of counts.entries())
      scores[index] = (scores[index] ?? 0) + (rarity * count) / (count + 1);
  }
  return scores;
}
