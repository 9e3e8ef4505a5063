import type { ToolCallPiece } from '../contract/tool-use.js';
import { CallText, type Reading } from './call-text.js';

/**
 * Tells calls from content in the text of one response, which arrives in pieces. What it gives, joined, does not depend
 * on where the text was split.
 */
export class ToolCallReader {
  private readonly text = new CallText();
  private readonly reading: Reading;
  private isDone = false;

  /** `read` ends where the text is not as its style says; what follows is content. */
  constructor(read: (text: CallText) => Reading) {
    this.reading = readAll(this.text, read);
  }

  /** True while text is held back of which it is not known what it is. */
  get isHolding(): boolean {
    return this.text.isHolding;
  }

  push(text: string): ToolCallPiece[] {
    this.text.add(text);
    this.run();
    return this.text.take();
  }

  /** The rest, when no more text follows. */
  finish(): ToolCallPiece[] {
    this.text.end();
    this.run();
    return this.text.take();
  }

  private run(): void {
    if (!this.isDone) this.isDone = this.reading.next().done ?? false;
  }
}

function* readAll(text: CallText, read: (text: CallText) => Reading): Reading {
  yield* read(text);
  yield* text.opening([]);
}
