import type { Tokenizer } from '@huggingface/tokenizers';

/** Text contribution of a single token, independent of its neighbors. */
export interface TokenBytes {
  /** UTF-8 bytes per token id; empty for special tokens and unused ids. May split characters. */
  readonly table: readonly Uint8Array[];
  /** Text of each token that is valid by itself, null if it splits a character: most tokens need no decoder. */
  readonly texts: readonly (string | null)[];
  /** Spaces that the decoder strips from the start of a text. */
  readonly leadingSpaces: number;
}

/** A step of a `decoder` in tokenizer.json, with the members used here. */
interface DecoderStep {
  type: string;
  pattern?: { String?: string };
  content?: string;
  start?: number;
  stop?: number;
  replacement?: string;
  decoders?: DecoderStep[];
}

/** How a token's string becomes bytes. */
interface DecoderPlan {
  byteLevel: boolean;
  byteFallback: boolean;
  replacements: { from: string; to: string }[];
  leadingSpaces: number;
}

const emptyBytes = new Uint8Array(0);
const textEncoder = new TextEncoder();
const textDecoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Compiles the decoder of a tokenizer.json into one byte string per token. Returns null if a token's text depends on
 * its neighbors (WordPiece, CTC, `</w>` suffixes); such decoders are re-run over a window.
 */
export function compileTokenBytes(
  tokenizer: Tokenizer,
  decoder: unknown,
  specialIds: ReadonlySet<number>,
): TokenBytes | null {
  const plan = planOf(decoder as DecoderStep | null);
  if (plan === null) return null;
  const added = tokenizer.get_added_tokens_decoder();
  const size = Math.max(tokenizer.get_vocab().size, ...[...added.keys()].map((id) => id + 1));
  const table: Uint8Array[] = [];
  for (let id = 0; id < size; id++) {
    const token = tokenizer.id_to_token(id);
    if (token === undefined || specialIds.has(id)) table.push(emptyBytes);
    else if (added.has(id)) table.push(textEncoder.encode(token));
    else table.push(bytesOf(token, plan));
  }
  return { table, texts: table.map(wholeText), leadingSpaces: plan.leadingSpaces };
}

function wholeText(bytes: Uint8Array): string | null {
  const text = textDecoder.decode(bytes);
  return text.includes('\uFFFD') ? null : text;
}

function planOf(decoder: DecoderStep | null): DecoderPlan | null {
  if (decoder === null) return null;
  const plan: DecoderPlan = { byteLevel: false, byteFallback: false, replacements: [], leadingSpaces: 0 };
  const steps = decoder.type === 'Sequence' ? (decoder.decoders ?? []) : [decoder];
  return steps.every((step) => addStep(plan, step, steps.length)) ? plan : null;
}

/** Adds a step to the plan; returns false if its effect is not per token. */
function addStep(plan: DecoderPlan, step: DecoderStep, count: number): boolean {
  switch (step.type) {
    case 'Fuse':
      return true;
    case 'ByteFallback':
      plan.byteFallback = true;
      return true;
    case 'ByteLevel':
      plan.byteLevel = true;
      return count === 1;
    case 'Metaspace':
      plan.replacements.push({ from: step.replacement ?? '▁', to: ' ' });
      plan.leadingSpaces = 1;
      return true;
    case 'Replace':
      if (step.pattern?.String === undefined) return false;
      plan.replacements.push({ from: step.pattern.String, to: step.content ?? '' });
      return true;
    case 'Strip':
      plan.leadingSpaces += step.start ?? 0;
      return step.content === ' ' && (step.stop ?? 0) === 0;
    default:
      return false;
  }
}

function bytesOf(token: string, plan: DecoderPlan): Uint8Array {
  if (plan.byteLevel) return byteLevelBytes(token);
  const byte = plan.byteFallback ? fallbackByte(token) : null;
  if (byte !== null) return Uint8Array.of(byte);
  return textEncoder.encode(plan.replacements.reduce((text, { from, to }) => text.replaceAll(from, to), token));
}

function fallbackByte(token: string): number | null {
  const match = /^<0x([0-9A-Fa-f]{2})>$/.exec(token);
  return match?.[1] === undefined ? null : Number.parseInt(match[1], 16);
}

/**
 * Returns the alphabet of byte-level BPE, which writes each byte as one printable character. Printable Latin-1 maps to
 * itself; the other 68 bytes map to U+0100 and up, in order.
 */
const byteOfCharacter = ((): ReadonlyMap<string, number> => {
  const map = new Map<string, number>();
  let moved = 0;
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    map.set(String.fromCharCode(printable ? byte : 0x100 + moved++), byte);
  }
  return map;
})();

function byteLevelBytes(token: string): Uint8Array {
  const bytes: number[] = [];
  for (const character of token) {
    const byte = byteOfCharacter.get(character);
    // A character outside the alphabet only occurs in a damaged vocabulary: keep its own text.
    if (byte === undefined) bytes.push(...textEncoder.encode(character));
    else bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}
