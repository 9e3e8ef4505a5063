import { randomBytes } from 'node:crypto';
import {
  callableTools,
  type ToolCallPiece,
  ToolCallReader,
  toolStyles,
  type ToolStyleName,
  type ToolUse,
} from '#inference/output';
import type { ChatEvent, TextDeltaEvent, TokenLogprob } from '../contract/index.js';

/** `call_` and 24 letters and digits. */
function newCallId(): string {
  return `call_${randomBytes(12).toString('hex')}`;
}

/**
 * Takes the tool calls out of the content of one choice. Every token is counted once, in the event that carries its
 * text or in the next one.
 */
export class ToolChannel {
  private readonly reader: ToolCallReader;
  private calls = 0;
  private waitingTokens = 0;
  private waitingLogprobs: TokenLogprob[] | null = null;

  constructor(
    private readonly index: number,
    style: ToolStyleName,
    { use, hasFormat }: { use: Pick<ToolUse, 'tools' | 'allowed' | 'isRequired'>; hasFormat: boolean },
  ) {
    const tools = callableTools(use);
    const { isRequired } = use;
    this.reader = new ToolCallReader((text) => toolStyles[style].read(text, tools), { isRequired, hasFormat });
  }

  get hasCalls(): boolean {
    return this.calls > 0;
  }

  push(event: TextDeltaEvent): ChatEvent[] {
    if (event.channel !== 'content') return [event];
    this.waitingTokens += event.tokens;
    if (event.logprobs !== null) this.waitingLogprobs = [...(this.waitingLogprobs ?? []), ...event.logprobs];
    return this.settle(this.reader.push(event.text));
  }

  /** The rest when the choice has ended. `cutBefore`: texts of which one may have come next; see `ToolCallReader`. */
  finish(cutBefore: readonly string[]): ChatEvent[] {
    const events = this.settle(this.reader.finish(cutBefore));
    if (this.waitingTokens === 0 && this.waitingLogprobs === null) return events;
    return [...events, ...this.settle([{ type: this.hasCalls ? 'arguments' : 'content', text: '' }])];
  }

  private settle(pieces: readonly ToolCallPiece[]): ChatEvent[] {
    return pieces.map((piece) => {
      if (piece.type === 'call') return this.begin(piece.name);
      const counted = { text: piece.text, tokens: this.waitingTokens, logprobs: this.waitingLogprobs };
      this.waitingTokens = 0;
      this.waitingLogprobs = null;
      const { index } = this;
      if (piece.type === 'content') return { type: 'text-delta', index, channel: 'content', ...counted };
      return { type: 'tool-call-delta', index, call: this.calls - 1, ...counted };
    });
  }

  private begin(name: string): ChatEvent {
    return { type: 'tool-call', index: this.index, call: this.calls++, id: newCallId(), name };
  }
}
