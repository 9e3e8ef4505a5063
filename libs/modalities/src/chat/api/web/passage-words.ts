import { setImmediate } from 'node:timers/promises';

const maxTerms = 24;
/** Of a longer question, only the beginning is looked at. */
const maxQuestionLength = 4_000;
/** Passages that are read before the event loop turns. */
const passagesPerTurn = 100;

/** The words of a question that can be looked for; pairs of letters in scripts that have no spaces. */
function termsOf(question: string): string[] {
  const words =
    question
      .slice(0, maxQuestionLength)
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
export async function scoreByWords(question: string, passages: readonly string[]): Promise<number[]> {
  const terms = termsOf(question);
  const counts: number[][] = [];
  for (const [index, passage] of passages.entries()) {
    const text = passage.normalize('NFKC').toLowerCase();
    counts.push(terms.map((term) => countOf(term, text)));
    if (index % passagesPerTurn === passagesPerTurn - 1) await setImmediate();
  }
  const rarities = terms.map((_, term) => {
    const holding = counts.filter((found) => (found[term] ?? 0) > 0).length;
    return Math.log(1 + passages.length / (1 + holding));
  });
  return counts.map((found) =>
    found.reduce((score, count, term) => score + ((rarities[term] ?? 0) * count) / (count + 1), 0),
  );
}

function countOf(term: string, text: string): number {
  let count = 0;
  for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + term.length)) count += 1;
  return count;
}
