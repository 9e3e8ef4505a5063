/**
 * All tokens of a tokenizer by their bytes, as a trie in preorder: one walk of three arrays visits every token, and a
 * byte that does not fit skips all tokens that begin with it. Made once per tokenizer.
 */
export interface TokenTrie {
  readonly vocabularySize: number;
  /** Bytes of the longest token. */
  readonly longestToken: number;
  /** Bytes of each token; empty for special tokens and holes. */
  readonly tokenBytes: readonly Uint8Array[];
  /** Last byte of each node. */
  readonly bytes: Uint8Array;
  /** Bytes before the last one of each node. */
  readonly depths: Uint16Array;
  /** First node behind those that begin with this node's bytes. */
  readonly skips: Int32Array;
  /** The tokens of node `i` are `tokens[firstTokens[i]]` up to `tokens[firstTokens[i + 1]]`, exclusive. */
  readonly firstTokens: Int32Array;
  readonly tokens: Int32Array;
}

/** Longer tokens are not offered under a constraint; no known vocabulary has one. */
const longestIndexed = 1_024;

/** `excluded` are tokens that end a text: they have no bytes here, whatever the table says. */
export function buildTokenTrie(table: readonly Uint8Array[], excluded: ReadonlySet<number>): TokenTrie {
  const tokenBytes = table.map((bytes, id) => (excluded.has(id) ? new Uint8Array(0) : bytes));
  const ids = Int32Array.from(tokenBytes.keys())
    .filter((id) => isIndexed(tokenBytes[id]))
    .sort((left, right) => compareBytes(tokenBytes[left], tokenBytes[right]) || left - right);
  const bytes: number[] = [];
  const depths: number[] = [];
  const skips: number[] = [];
  /** The node of each token. */
  const nodes: number[] = [];
  /** The nodes on the way to the token before. */
  const path: number[] = [];
  let previous: Uint8Array = new Uint8Array(0);
  for (const id of ids) {
    const token = tokenBytes[id] ?? previous;
    let shared = 0;
    while (shared < previous.length && previous[shared] === token[shared]) shared++;
    for (const node of path.splice(shared)) skips[node] = bytes.length;
    for (let depth = shared; depth < token.length; depth++) {
      path.push(bytes.length);
      bytes.push(token[depth] ?? 0);
      depths.push(depth);
    }
    nodes.push(path.at(-1) ?? 0);
    previous = token;
  }
  for (const node of path) skips[node] = bytes.length;
  return {
    vocabularySize: table.length,
    longestToken: ids.reduce((longest, id) => Math.max(longest, tokenBytes[id]?.length ?? 0), 0),
    tokenBytes,
    bytes: Uint8Array.from(bytes),
    depths: Uint16Array.from(depths),
    skips: Int32Array.from(skips),
    firstTokens: firstTokensOf(nodes, bytes.length),
    tokens: ids,
  };
}

/** Tokens are in the order of their nodes. */
function firstTokensOf(nodes: readonly number[], nodeCount: number): Int32Array {
  const starts = new Int32Array(nodeCount + 1);
  let position = 0;
  for (let node = 0; node <= nodeCount; node++) {
    starts[node] = position;
    while (nodes[position] === node) position++;
  }
  return starts;
}

function isIndexed(bytes: Uint8Array | undefined): boolean {
  return bytes !== undefined && bytes.length > 0 && bytes.length <= longestIndexed;
}

function compareBytes(left: Uint8Array = new Uint8Array(0), right: Uint8Array = new Uint8Array(0)): number {
  const shared = Math.min(left.length, right.length);
  for (let index = 0; index < shared; index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
