/** Thrown by `TextSink` to end an extraction whose text is complete up to its limit. */
export class TextLimitReached extends Error {
  override readonly name = 'TextLimitReached';
}

/** Collects extracted text up to a maximum length. */
export class TextSink {
  private readonly parts: string[] = [];
  private length = 0;
  private pendingBreaks = 0;

  constructor(private readonly maxCharacters: number) {}

  /** Throws `TextLimitReached` after the last character that fits. */
  write(text: string): void {
    if (text === '') return;
    const breaks = this.length === 0 ? '' : '\n'.repeat(this.pendingBreaks);
    this.pendingBreaks = 0;
    const whole = breaks + text;
    const room = this.maxCharacters - this.length;
    this.parts.push(whole.length > room ? whole.slice(0, room) : whole);
    this.length += Math.min(whole.length, room);
    if (whole.length > room) throw new TextLimitReached();
  }

  /** Ends the line; further calls have no effect before the next text. */
  endLine(): void {
    this.pendingBreaks = Math.max(this.pendingBreaks, 1);
  }

  /** Ends the paragraph with an empty line. */
  endParagraph(): void {
    this.pendingBreaks = 2;
  }

  text(): string {
    return this.parts.join('');
  }
}
