import { addedTokens, bpeModel, surroundWith, type AddedToken } from './tokenizer-json.js';

/** A SentencePiece BPE vocabulary, as stored by llama2.c and GGUF. */
export interface SentencePieceVocabulary {
  /** By id, with `▁` for spaces; bytes are written `<0xNN>`. */
  pieces: string[];
  /** By id; the piece with the higher score is merged first. */
  scores: ArrayLike<number>;
  /** Pairs that are merged, the first before the others, in place of those that follow from the scores. */
  merges?: string[];
  /** Tokens outside the merges. */
  added: AddedToken[];
  unknown: AddedToken | null;
  bos: AddedToken | null;
  eos: AddedToken | null;
  addsBos: boolean;
  addsEos: boolean;
  /** Whether a space is added before the text. */
  addsSpace: boolean;
}

/** Whether characters outside the vocabulary become bytes: it then has a piece for each of the 256. */
function hasBytes(pieces: readonly string[]): boolean {
  return new Set(pieces.filter(isByte)).size === 256;
}

/** Builds the `tokenizer_config.json` for LLaMA's vocabulary. */
export const llamaTokenizerConfig = {
  tokenizer_class: 'LlamaTokenizer',
  bos_token: '<s>',
  eos_token: '</s>',
  unk_token: '<unk>',
  add_bos_token: true,
  add_eos_token: false,
  legacy: true,
  clean_up_tokenization_spaces: false,
} as const;

/** Builds a `tokenizer.json` that splits text as SentencePiece does. */
export function sentencePieceTokenizerJson(vocabulary: SentencePieceVocabulary): Record<string, unknown> {
  const { pieces, bos, eos, unknown } = vocabulary;
  const normalizers = [
    ...(vocabulary.addsSpace ? [{ type: 'Prepend', prepend: '▁' }] : []),
    { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
  ];
  const decoders = [
    { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
    { type: 'ByteFallback' },
    { type: 'Fuse' },
    ...(vocabulary.addsSpace ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
  ];
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: addedTokens(vocabulary.added),
    normalizer: { type: 'Sequence', normalizers },
    pre_tokenizer: null,
    post_processor: surroundWith(vocabulary.addsBos ? bos : null, vocabulary.addsEos ? eos : null),
    decoder: { type: 'Sequence', decoders },
    model: bpeModel(
      { tokens: pieces, merges: vocabulary.merges ?? mergesFromScores(vocabulary) },
      { unk_token: unknown?.content ?? null, fuse_unk: true, byte_fallback: hasBytes(pieces) },
    ),
  };
}

/**
 * Derives the merge list. SentencePiece joins any two adjacent pieces whose concatenation is a piece, the best score
 * first. A list of all such pairs, ordered by the score of their result, is equivalent.
 */
export function mergesFromScores(vocabulary: Pick<SentencePieceVocabulary, 'pieces' | 'scores' | 'added'>): string[] {
  const { pieces, scores } = vocabulary;
  const outside = new Set(vocabulary.added.map((token) => token.id));
  const ids = new Map<string, number>();
  pieces.forEach((piece, id) => {
    if (!ids.has(piece) && !outside.has(id) && !isByte(piece)) ids.set(piece, id);
  });
  const merges: { text: string; score: number; order: [number, number] }[] = [];
  for (const [piece, id] of ids) {
    for (const [left, right] of splits(piece)) {
      const [leftId, rightId] = [ids.get(left), ids.get(right)];
      if (leftId === undefined || rightId === undefined) continue;
      merges.push({ text: `${left} ${right}`, score: scores[id] ?? 0, order: [leftId, rightId] });
    }
  }
  merges.sort(
    (one, other) => other.score - one.score || one.order[0] - other.order[0] || one.order[1] - other.order[1],
  );
  return merges.map((merge) => merge.text);
}

function isByte(piece: string): boolean {
  return /^<0x[0-9A-F]{2}>$/.test(piece);
}

function* splits(piece: string): Generator<[string, string]> {
  const characters = [...piece];
  for (let index = 1; index < characters.length; index++) {
    yield [characters.slice(0, index).join(''), characters.slice(index).join('')];
  }
}
