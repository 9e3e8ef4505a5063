import type { ToolCallPiece } from '../contract/tool-use.js';
import { CallText, type Reading } from './call-text.js';

/**
 * Tells calls from content in the text of one response, which arrives in pieces. What it gives, joined, does not depend
 * on where the text was split.
 */
export class ToolCallReader {
  private readonly text: CallText;
  private readonly reading: Reading;
  private isDone = false;

  /**
   * `read` ends where the text is not as its style says; what follows is content. `isRequired`: the text must be a call,
   * so that the beginning of one is no content. `hasFormat`: JSON without marks is the document of a response format.
   */
  constructor(
    read: (text: CallText) => Reading,
    { isRequired = false, hasFormat = false }: { isRequired?: boolean; hasFormat?: boolean } = {},
  ) {
    this.text = new CallText(isRequired, !hasFormat);
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

  /**
   * The rest, when no more text follows. `cutBefore`: what may have followed, which is the empty text at the token limit
   * and the stop strings elsewhere. The rest is dropped if it begins a call with one of them. Default: the model ended it.
   */
  finish(cutBefore: readonly string[] = []): ToolCallPiece[] {
    this.text.end(cutBefore);
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
