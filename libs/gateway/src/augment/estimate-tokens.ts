/** Matches words, numbers, signs, and characters of scripts without spaces. */
const pieces =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|\p{L}+|\p{N}{1,3}|[^\s\p{L}\p{N}]/gu;

/** Letters of a word that usually share a token. */
const lettersPerToken = 6;

/** Estimates how many tokens a text has. Vocabularies differ, so no exact number holds for every model. */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(pieces)) tokens += Math.ceil(piece.length / lettersPerToken);
  return tokens;
}
