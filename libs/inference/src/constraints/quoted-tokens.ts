import type { TokenTrie } from './token-trie.js';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/** The tokens of a vocabulary that may end the name of a member, by how. */
export interface QuotedTokens {
  /** Those with one or two quotes and no backslash, by their bytes before the first quote. */
  readonly simple: ReadonlyMap<string, readonly number[]>;
  /** All others with a quote. */
  readonly complex: readonly number[];
  /** Those with at least two quotes, and those with at least four, of which two names may be. */
  readonly pairs: readonly number[];
  readonly doublePairs: readonly number[];
  /** Those with a comma, with which a text may come to a name, and those with more behind their last quote. */
  readonly commas: readonly number[];
  readonly beginnings: readonly number[];
  /** Those with a comma behind a quote, which may end the last name that an object may have. */
  readonly members: readonly number[];
}

type TokenList = Exclude<keyof QuotedTokens, 'simple'>;

const indexes = new WeakMap<TokenTrie, QuotedTokens>();

/** Made when first asked for, once per vocabulary. */
export function quotedTokensOf(trie: TokenTrie): QuotedTokens {
  const known = indexes.get(trie) ?? indexed(trie);
  indexes.set(trie, known);
  return known;
}

function indexed({ tokens, tokenBytes }: TokenTrie): QuotedTokens {
  const simple = new Map<string, number[]>();
  const lists = { complex: [], pairs: [], doublePairs: [], commas: [], beginnings: [], members: [] } as Record<
    TokenList,
    number[]
  >;
  for (const id of tokens) {
    const bytes = tokenBytes[id] as Uint8Array;
    const first = bytes.indexOf(quote);
    if (bytes.includes(comma)) lists.commas.push(id);
    if (first < 0) continue;
    if (bytes.lastIndexOf(comma) > first) lists.members.push(id);
    if (bytes.at(-1) !== quote) lists.beginnings.push(id);
    const count = bytes.reduce((sum, byte) => sum + Number(byte === quote), 0);
    if (count >= 2) lists.pairs.push(id);
    if (count >= 4) lists.doublePairs.push(id);
    if (count > 2 || bytes.includes(backslash)) lists.complex.push(id);
    else {
      const before = Buffer.from(bytes.subarray(0, first)).toString('latin1');
      const group = simple.get(before);
      if (group === undefined) simple.set(before, [id]);
      else group.push(id);
    }
  }
  return { simple, ...lists };
}

/** The tokens with which `bytes` begins. */
export function* tokensAlong(trie: TokenTrie, bytes: Uint8Array): Generator<number, void> {
  const { depths, skips, firstTokens, tokens } = trie;
  let node = 0;
  for (let depth = 0; depth < bytes.length; depth++) {
    while (node < trie.bytes.length && depths[node] === depth && trie.bytes[node] !== bytes[depth]) {
      node = skips[node] as number;
    }
    if (node >= trie.bytes.length || depths[node] !== depth) return;
    for (let at = firstTokens[node] as number; at < (firstTokens[node + 1] as number); at++) yield tokens[at] as number;
    node++;
  }
}
