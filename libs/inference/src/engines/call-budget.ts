import type { ToolDefinition, ToolStyleName } from '../contract/tool-use.js';
import { ToolCallReader } from '../tools/tool-call-reader.js';
import { toolStyles } from '../tools/tool-styles.js';

/**
 * Calls differ in length; the next one may be longer by this part of the longest so far. Behind the first one the text
 * that ends a call was not seen yet.
 */
const firstAllowance = 1 / 2;
const allowance = 1 / 8;

/**
 * Ends a choice with several calls behind the last one that fits. A call that the token limit cuts off is of no use to
 * a client, and small models go on calling until the limit.
 */
export class CallBudget {
  private readonly reader: ToolCallReader;
  /** Arguments of the call that is being written. */
  private text = '';
  /** Tokens before the call, and what leads to it. */
  private before = 0;
  private longest = 0;
  private calls = 0;

  constructor(
    private readonly maxTokens: number,
    { style, tools }: { style: ToolStyleName; tools: readonly ToolDefinition[] },
  ) {
    this.reader = new ToolCallReader((text) => toolStyles[style].read(text, tools));
  }

  /**
   * Takes the next text of the answer, with the number of tokens generated so far. True behind a call after which
   * another one of the longest length so far would not fit.
   */
  push(text: string, tokens: number): boolean {
    let isLast = false;
    for (const piece of this.reader.push(text)) {
      if (piece.type === 'arguments') isLast = this.add(piece.text, tokens);
      else this.text = '';
      if (piece.type === 'content') this.before = tokens;
    }
    return isLast;
  }

  private add(text: string, tokens: number): boolean {
    this.text += text;
    if (!isWhole(this.text)) return false;
    this.text = '';
    this.longest = Math.max(this.longest, tokens - this.before);
    this.before = tokens;
    const more = ++this.calls === 1 ? firstAllowance : allowance;
    return tokens + Math.ceil(this.longest * (1 + more)) > this.maxTokens;
  }
}

function isWhole(text: string): boolean {
  if (!text.endsWith('}')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
