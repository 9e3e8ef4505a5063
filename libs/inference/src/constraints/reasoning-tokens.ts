import type { ReasoningFormat } from '../contract/reasoning-format.js';
import type { AllowedTokens } from '../sampling/token-constraint.js';

const noBytes = new Uint8Array(0);

/** What a tokenizer makes of a reasoning format. Made once per model, shared by all requests; masks are cached. */
export class ReasoningTokens {
  readonly open: Uint8Array;
  readonly close: Uint8Array;
  readonly answer: Uint8Array | null;
  /** Length of the longest proper border of each prefix of `close` (Knuth-Morris-Pratt). */
  private readonly borders: Uint8Array;
  readonly all: AllowedTokens;
  private readonly forced: AllowedTokens[];
  private readonly starts = new Map<string, Uint32Array>();
  private readonly insides = new Map<number, Uint32Array>();
  private readonly blanks: Uint32Array[] = [];

  /**
   * `closeIds`: the tokens that are fed to close a block. `endings`: tokens that end every text. Throws a `RangeError` if
   * the tokens do not spell the delimiter.
   */
  constructor(
    readonly tokenBytes: readonly Uint8Array[],
    { open, close, answer }: ReasoningFormat,
    private readonly options: { closeIds: readonly number[]; endings: ReadonlySet<number> },
  ) {
    this.open = Buffer.from(open);
    this.close = Buffer.from(close);
    this.answer = answer === undefined ? null : Buffer.from(answer);
    this.borders = bordersOf(this.close);
    const spelled = Buffer.concat(options.closeIds.map((id) => tokenBytes[id] ?? noBytes));
    if (!spelled.includes(close)) throw new RangeError('The tokens of the delimiter do not spell it.');
    this.all = { bits: this.bitsOf(() => true), endings: [] };
    this.forced = options.closeIds.map((id) => ({ bits: this.bitsOf((other) => other === id), endings: [] }));
  }

  bytesOf(tokenId: number): Uint8Array {
    return this.tokenBytes[tokenId] ?? noBytes;
  }

  /** The only token allowed at each step of closing a block by force; null behind the last. */
  forcedAt(step: number): AllowedTokens | null {
    return this.forced[step] ?? null;
  }

  /** Bytes of `close` that the text ends with after one more byte; its whole length when the byte completes it. */
  closing(matched: number, byte: number): number {
    let length = matched;
    while (length > 0 && this.close[length] !== byte) length = this.borders[length - 1] ?? 0;
    return this.close[length] === byte ? length + 1 : length;
  }

  /** Tokens with which a delimiter may go on whose first `position` bytes are there. */
  goingOn(delimiter: Uint8Array, position: number): Uint32Array {
    const key = `${delimiter === this.open ? 'open' : 'answer'} ${position}`;
    const known = this.starts.get(key);
    if (known !== undefined) return known;
    const rest = delimiter.subarray(position);
    const bits = this.bitsOf((id) => {
      const bytes = this.bytesOf(id);
      const shared = Math.min(bytes.length, rest.length);
      return shared > 0 && Buffer.compare(bytes.subarray(0, shared), rest.subarray(0, shared)) === 0;
    });
    this.starts.set(key, bits);
    return bits;
  }

  /**
   * All tokens of reasoning that must not end the text, with `matched` bytes of `close` there. A token that completes it
   * and goes on with more than white space is left out: the grammar of the answer has to see whole tokens.
   */
  inside(matched: number): Uint32Array {
    const known = this.insides.get(matched);
    if (known !== undefined) return known;
    const bits = this.bitsOf((id) => !this.options.endings.has(id) && this.staysWhole(this.bytesOf(id), matched));
    this.insides.set(matched, bits);
    return bits;
  }

  /** Tokens of at most `length` bytes of white space and nothing else. */
  blankUpTo(length: number): Uint32Array {
    return (this.blanks[length] ??= this.bitsOf((id) => {
      const bytes = this.bytesOf(id);
      return bytes.length > 0 && bytes.length <= length && isBlank(bytes);
    }));
  }

  private staysWhole(bytes: Uint8Array, matched: number): boolean {
    let length = matched;
    for (const [index, byte] of bytes.entries()) {
      length = this.closing(length, byte);
      if (length === this.close.length) return isBlank(bytes.subarray(index + 1));
    }
    return true;
  }

  private bitsOf(isAllowed: (id: number) => boolean): Uint32Array {
    const bits = new Uint32Array((this.tokenBytes.length + 31) >> 5);
    for (let id = 0; id < this.tokenBytes.length; id++) {
      if (isAllowed(id)) bits[id >> 5] = (bits[id >> 5] ?? 0) | (1 << (id & 31));
    }
    return bits;
  }
}

/** White space that may stand around delimiters: blank, tab, line feed, carriage return. */
export function isBlankByte(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every(isBlankByte);
}

function bordersOf(pattern: Uint8Array): Uint8Array {
  const borders = new Uint8Array(pattern.length);
  let length = 0;
  for (let index = 1; index < pattern.length; index++) {
    while (length > 0 && pattern[index] !== pattern[length]) length = borders[length - 1] ?? 0;
    if (pattern[index] === pattern[length]) length++;
    borders[index] = length;
  }
  return borders;
}
