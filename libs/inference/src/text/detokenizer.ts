import type { TokenBytes } from './token-bytes.js';

/** Turns the tokens of one text into characters incrementally. Never splits a character over two calls. */
export interface Detokenizer {
  push(tokenId: number): string;
  /**
   * Returns the rest after the last token. An incomplete character becomes U+FFFD; where the text is cut off, it is left
   * out. Default: the text is not cut off.
   */
  flush(isCut?: boolean): string;
}

/** Fast implementation for tokenizers with known bytes per token. */
export class ByteDetokenizer implements Detokenizer {
  private readonly decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  private spacesToStrip: number;
  /** True while the decoder may contain the beginning of a character. */
  private pending = false;

  constructor(
    private readonly tokens: TokenBytes,
    { stripLeadingSpaces }: { stripLeadingSpaces: boolean },
  ) {
    this.spacesToStrip = stripLeadingSpaces ? tokens.leadingSpaces : 0;
  }

  push(tokenId: number): string {
    const whole = this.tokens.texts[tokenId];
    if (whole === undefined) return '';
    if (whole !== null && !this.pending) return this.stripped(whole);
    const bytes = this.tokens.table[tokenId] ?? new Uint8Array(0);
    if (bytes.length === 0) return '';
    this.pending = true;
    const text = this.decoder.decode(bytes, { stream: true });
    // A whole token after an incomplete character ends it, so the decoder is empty afterwards.
    if (whole !== null) this.pending = false;
    else if (isAscii(bytes.at(-1))) this.pending = false;
    return this.stripped(text);
  }

  flush(isCut = false): string {
    if (!this.pending) return '';
    this.pending = false;
    const rest = this.decoder.decode();
    return isCut ? '' : this.stripped(rest);
  }

  private stripped(text: string): string {
    if (this.spacesToStrip === 0 || text === '') return text;
    let count = 0;
    while (count < this.spacesToStrip && text[count] === ' ') count++;
    this.spacesToStrip = count === text.length ? this.spacesToStrip - count : 0;
    return text.slice(count);
  }
}

function isAscii(byte: number | undefined): boolean {
  return byte !== undefined && byte < 0x80;
}

/**
 * Slow implementation for decoders whose output for a token depends on its neighbors. Decodes the tokens since the
 * last cut with and without the new one, and emits the difference once it ends in a complete character.
 */
export class WindowDetokenizer implements Detokenizer {
  private ids: number[] = [];
  private emitted = '';

  constructor(private readonly decode: (ids: number[]) => string) {}

  push(tokenId: number): string {
    this.ids.push(tokenId);
    const text = this.decode(this.ids);
    if (text.endsWith('\uFFFD') || !text.startsWith(this.emitted)) return '';
    const delta = text.slice(this.emitted.length);
    this.emitted = text;
    this.trim();
    return delta;
  }

  flush(isCut = false): string {
    const decoded = this.ids.length === 0 ? '' : this.decode(this.ids);
    const text = isCut ? withoutIncomplete(decoded) : decoded;
    const delta = text.startsWith(this.emitted) ? text.slice(this.emitted.length) : '';
    this.emitted = text;
    return delta;
  }

  /** Shortens the window where dropping its start does not change what follows. */
  private trim(): void {
    if (this.ids.length < 2 * windowTokens) return;
    const kept = this.ids.slice(-windowTokens);
    const text = this.decode(kept);
    if (!this.emitted.endsWith(text)) return;
    this.ids = kept;
    this.emitted = text;
  }
}

const windowTokens = 8;

function withoutIncomplete(text: string): string {
  let end = text.length;
  while (text[end - 1] === '\uFFFD') end--;
  return text.slice(0, end);
}
