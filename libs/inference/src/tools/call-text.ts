import type { ToolCallPiece } from '../contract/tool-use.js';
import { PythonValue } from './python-value.js';

/** A reader that stops where the text does and goes on with more of it. */
export type Reading<Result = void> = Generator<void, Result, void>;

/** A text that ends the content of a response. */
export interface Opening {
  text: string;
  /** Only where nothing but white space precedes it. */
  atStart?: boolean;
}

const anySpace = /\s/;

/**
 * The text of a response, as far as it has come, and the pieces read of it. Text may be split anywhere. White space
 * around calls belongs to no piece.
 */
export class CallText {
  private rest = '';
  private hasEnded = false;
  private pieces: ToolCallPiece[] = [];
  /** White space that belongs to the content if more of it follows. */
  private space = '';
  private isAtStart = true;
  /** What may have followed the end of the text; see `end`. */
  private cutBefore: readonly string[] = [];

  /**
   * `isMarkup`: whether nothing may come before a call, so that no text is content. `hasBareCalls`: whether JSON without
   * marks may be a call in styles that have marks.
   */
  constructor(
    private isMarkup = false,
    readonly hasBareCalls = true,
  ) {}

  add(text: string): void {
    this.rest += text;
  }

  /** `cutBefore`: texts of which one may have followed; none where the model ended the text. */
  end(cutBefore: readonly string[] = []): void {
    this.hasEnded = true;
    this.cutBefore = cutBefore;
  }

  take(): ToolCallPiece[] {
    const { pieces } = this;
    this.pieces = [];
    return pieces;
  }

  /** True while text is held back of which it is not known what it is. */
  get isHolding(): boolean {
    return this.rest !== '' || this.space !== '';
  }

  /** Reads content up to one of the openings, and that one. Its index; −1 where the text ends before. */
  *opening(openings: readonly Opening[]): Reading<number> {
    // Most texts begin no opening, and there may be thousands of openings.
    const begins = [...new Set(openings.map(({ text }) => text.charAt(0)))];
    for (;;) {
      const mayOpen = begins.some((character) => this.rest.includes(character));
      const found = mayOpen ? this.find(openings) : null;
      if (found !== null) {
        this.content(this.rest.slice(0, found.at));
        this.space = '';
        this.isAtStart = false;
        this.isMarkup = true;
        this.rest = this.rest.slice(found.at + (openings[found.index]?.text.length ?? 0));
        return found.index;
      }
      if (this.hasEnded) break;
      this.release(mayOpen ? this.heldLength(openings, '') : 0);
      yield;
    }
    this.finish(openings);
    return -1;
  }

  /** The end of the content. A mark that was cut off is no part of it, nor is anything where only marks may be. */
  private finish(openings: readonly Opening[]): void {
    const held = Math.max(0, ...this.cutBefore.map((text) => this.heldLength(openings, text)));
    if (!this.isMarkup) this.release(held);
    if (!this.isMarkup && held === 0 && this.space !== '') this.pieces.push({ type: 'content', text: this.space });
    this.space = '';
    this.rest = '';
  }

  /** The text but for its end is content. */
  private release(held: number): void {
    this.content(this.rest.slice(0, this.rest.length - held));
    this.rest = this.rest.slice(this.rest.length - held);
  }

  begin(name: string): void {
    this.pieces.push({ type: 'call', name });
  }

  arguments(text: string): void {
    const last = this.pieces.at(-1);
    if (last?.type === 'arguments') last.text += text;
    else if (text !== '') this.pieces.push({ type: 'arguments', text });
  }

  /** Whether the text, behind white space, goes on with `text`, which is read then. */
  *skip(text: string): Reading<boolean> {
    yield* this.skipSpace();
    while (!this.hasEnded && this.rest.length < text.length && text.startsWith(this.rest)) yield;
    if (!this.rest.startsWith(text)) return false;
    this.rest = this.rest.slice(text.length);
    return true;
  }

  /** The text up to `end`, which is read as well; null where there is no end. */
  *upTo(end: string): Reading<string | null> {
    for (;;) {
      const at = this.rest.indexOf(end);
      if (at >= 0) {
        const text = this.rest.slice(0, at);
        this.rest = this.rest.slice(at + end.length);
        return text;
      }
      if (this.hasEnded) return null;
      yield;
    }
  }

  /** Writes the text up to `end` as the content of a JSON string, as it comes. False where there is no end. */
  *quotedUpTo(end: string): Reading<boolean> {
    for (;;) {
      const at = this.rest.indexOf(end);
      // What begins the end is no part of the string where the text is cut off, either.
      const length = at >= 0 ? at : this.rest.length - longestBeginning(this.rest, end);
      this.arguments(JSON.stringify(this.rest.slice(0, length)).slice(1, -1));
      this.rest = this.rest.slice(at >= 0 ? at + end.length : length);
      if (at >= 0) return true;
      if (this.hasEnded) return false;
      yield;
    }
  }

  /** A JSON string; null where the text ends or goes on with something else. */
  *string(): Reading<string | null> {
    let text = '';
    const isWhole = yield* this.value((piece) => (text += piece));
    if (!isWhole || !text.startsWith('"')) return null;
    try {
      return JSON.parse(text) as string;
    } catch {
      return null;
    }
  }

  /** Reads one JSON value, behind white space, and hands out its text as it comes. False where it is cut off. */
  *value(take: (text: string) => void = (text) => this.arguments(text)): Reading<boolean> {
    yield* this.skipSpace();
    const scan = new ValueScan();
    for (;;) {
      const length = scan.lengthIn(this.rest);
      take(this.rest.slice(0, length));
      this.rest = this.rest.slice(length);
      if (scan.isDone) return true;
      if (this.hasEnded) return scan.isScalar;
      yield;
    }
  }

  /** Reads one Python literal, behind white space, and hands it out as JSON. False where it is cut off. */
  *pythonValue(): Reading<boolean> {
    yield* this.skipSpace();
    const value = new PythonValue();
    for (;;) {
      const { length, json } = value.read(this.rest);
      this.arguments(json);
      this.rest = this.rest.slice(length);
      if (value.isDone) return true;
      if (this.hasEnded) {
        this.arguments(value.finish());
        return value.isScalar;
      }
      yield;
    }
  }

  private *skipSpace(): Reading {
    for (;;) {
      this.rest = this.rest.trimStart();
      if (this.rest !== '' || this.hasEnded) return;
      yield;
    }
  }

  /** Text of the response; white space at its end waits for what follows. */
  private content(text: string): void {
    const whole = this.space + text;
    const visible = whole.trimEnd();
    this.space = whole.slice(visible.length);
    if (visible === '') return;
    this.isAtStart = false;
    this.pieces.push({ type: 'content', text: visible });
  }

  private find(openings: readonly Opening[]): { index: number; at: number } | null {
    const start = this.rest.length - this.rest.trimStart().length;
    const found = openings.map(({ text, atStart = false }, index) => {
      if (!atStart) return { index, at: this.rest.indexOf(text) };
      return { index, at: this.isAtStart && this.rest.startsWith(text, start) ? start : -1 };
    });
    const present = found.filter(({ at }) => at >= 0).sort((left, right) => left.at - right.at);
    return present[0] ?? null;
  }

  /** Length of the end of the text that, with `following`, may begin an opening. */
  private heldLength(openings: readonly Opening[], following: string): number {
    const trimmed = this.rest.trimStart();
    const lengths = openings.map(({ text, atStart = false }) => {
      if (!atStart) return longestBeginning(this.rest, text, following);
      return this.isAtStart && isBeginning(trimmed + following, text) ? trimmed.length : 0;
    });
    return Math.max(0, ...lengths);
  }
}

/** Length of the longest end of `text` that, with `following`, begins `mark`. */
function longestBeginning(text: string, mark: string, following = ''): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length--) {
    if (isBeginning(text.slice(text.length - length) + following, mark)) return length;
  }
  return 0;
}

function isBeginning(text: string, mark: string): boolean {
  return mark.startsWith(text) || text.startsWith(mark);
}

/** Finds where one JSON value ends. */
class ValueScan {
  isDone = false;
  private depth = 0;
  private inString = false;
  private isEscaped = false;
  private hasBegun = false;

  /** True for a number, `true`, `false` or `null`, which only what follows ends. */
  get isScalar(): boolean {
    return this.hasBegun && this.depth === 0 && !this.inString;
  }

  /** How much of the text belongs to the value. */
  lengthIn(text: string): number {
    for (let index = 0; index < text.length; index++) {
      const character = text[index] as string;
      if (this.endsScalar(character)) {
        this.isDone = true;
        return index;
      }
      this.hasBegun = true;
      this.read(character);
      if (this.isDone) return index + 1;
    }
    return text.length;
  }

  private endsScalar(character: string): boolean {
    return this.isScalar && (',}])'.includes(character) || anySpace.test(character));
  }

  private read(character: string): void {
    if (this.inString) {
      if (this.isEscaped) this.isEscaped = false;
      else if (character === '\\') this.isEscaped = true;
      else if (character === '"') {
        this.inString = false;
        this.isDone = this.depth === 0;
      }
    } else if (character === '"') this.inString = true;
    else if (character === '{' || character === '[') this.depth++;
    else if (character === '}' || character === ']') {
      this.depth--;
      this.isDone = this.depth === 0;
    }
  }
}
