import { invalidFile, quoted } from '../invalid-file.js';

const tokenizerFile = 'tokenizer.json';

/** Members of `tokenizer.json` that name tokens by their ids. */
interface TokenizerFile {
  model?: { vocab?: Record<string, unknown> | unknown[] };
  added_tokens?: ({ id?: unknown } | null)[];
  post_processor?: unknown;
}

/**
 * Returns a tokenizer whose tokens all have an embedding. Published tokenizers of models that also see list a token for
 * images, which the text-only ones have no row for (Gemma 3 1B). Such an added token is dropped, so that a text with it
 * is split into ordinary tokens. Throws `INVALID_MODEL` if the vocabulary itself is larger than the weights, or if the
 * dropped token is put around every text: it would fail in the middle of a request.
 */
export function fitTokenizer(tokenizer: Record<string, unknown>, vocabularySize: number): Record<string, unknown> {
  const { model, added_tokens: added, post_processor: around } = tokenizer as TokenizerFile;
  const vocabulary = model?.vocab;
  const ids: unknown[] = Array.isArray(vocabulary) ? [vocabulary.length - 1] : Object.values(vocabulary ?? {});
  const tokens = Array.isArray(added) ? added : [];
  const highest = highestId(ids);
  const highestAdded = highestId(tokens.map((token) => token?.id));
  if (Math.max(highest, highestAdded) < 0) throw invalidFile(tokenizerFile, 'it has no vocabulary');
  if (highest >= vocabularySize) throw larger(highest, vocabularySize);
  if (highestAdded < vocabularySize) return tokenizer;
  const isKept = (token: { id?: unknown } | null) => Number(token?.id) < vocabularySize;
  const dropped = tokens.filter((token) => !isKept(token)).map((token) => Number(token?.id));
  const named = leavesOf(around);
  const needed = dropped.find((id) => named.has(id));
  if (needed !== undefined) throw larger(needed, vocabularySize);
  return { ...tokenizer, added_tokens: tokens.filter(isKept) };
}

function larger(id: number, vocabularySize: number): Error {
  return invalidFile(tokenizerFile, `it has a token ${id}, and config.json and weights have ${vocabularySize} tokens`);
}

function highestId(ids: readonly unknown[]): number {
  let highest = -1;
  for (const id of ids) {
    if (typeof id !== 'number' || !Number.isSafeInteger(id)) {
      throw invalidFile(tokenizerFile, `it has a token with the id ${quoted(JSON.stringify(id) ?? 'undefined')}`);
    }
    highest = Math.max(highest, id);
  }
  return highest;
}

/** Deeper than the members of a post-processor, with those of one in a sequence. */
const maxDepth = 8;

/** Returns the values in a post-processor and those in it, among them the ids of the tokens that it puts around texts. */
function leavesOf(value: unknown, depth = 0, leaves = new Set<unknown>()): Set<unknown> {
  if (typeof value !== 'object' || value === null) return leaves.add(value);
  if (depth <= maxDepth) for (const member of Object.values(value)) leavesOf(member, depth + 1, leaves);
  return leaves;
}
