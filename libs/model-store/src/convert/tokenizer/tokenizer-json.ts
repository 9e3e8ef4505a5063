/** A token that is never split nor merged. */
export interface AddedToken {
  id: number;
  content: string;
  /** Omitted from decoded text. */
  special: boolean;
  /** Drops the spaces after it. */
  rstrip?: boolean;
}

export function addedTokens(tokens: AddedToken[]): Record<string, unknown>[] {
  return tokens.map((token) => ({
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    ...token,
  }));
}

/** Builds a `post_processor` that adds `before` at the start of a text and `after` at its end. */
export function surroundWith(before: AddedToken | null, after: AddedToken | null): Record<string, unknown> {
  const special = (token: AddedToken | null, type: number) =>
    token ? [{ SpecialToken: { id: token.content, type_id: type } }] : [];
  const sequence = (name: string, type: number) => [
    ...special(before, type),
    { Sequence: { id: name, type_id: type } },
    ...special(after, type),
  ];
  const known = [before, after].flatMap((token) =>
    token ? [[token.content, { id: token.content, ids: [token.id], tokens: [token.content] }] as const] : [],
  );
  return {
    type: 'TemplateProcessing',
    single: sequence('A', 0),
    pair: [...sequence('A', 0), ...sequence('B', 1)],
    special_tokens: Object.fromEntries(known),
  };
}

export interface BpeVocabulary {
  /** Maps tokens to ids. A text that occurs twice keeps the lower id. */
  tokens: string[];
  merges: string[];
}

export function bpeModel(
  { tokens, merges }: BpeVocabulary,
  rest: { unk_token: string | null; fuse_unk: boolean; byte_fallback: boolean; ignore_merges?: boolean },
): Record<string, unknown> {
  const vocabulary = new Map<string, number>();
  tokens.forEach((token, id) => {
    if (!vocabulary.has(token)) vocabulary.set(token, id);
  });
  return {
    type: 'BPE',
    dropout: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
    ...rest,
    vocab: Object.fromEntries(vocabulary),
    merges,
  };
}
