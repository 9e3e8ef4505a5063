import type { ReasoningFormat } from '../contract/reasoning-format.js';
import type { DeltaPiece, GeneratedTokenLogprob, TextDelta } from '../contract/text-generation.js';
import { type ThinkSegment, ThinkSplitter } from './think-splitter.js';

/** Text of one choice as the engine delivers it. */
export type EngineDelta = Pick<TextDelta, 'text' | 'tokens' | 'logprobs' | 'pieces'>;

/** Text of one choice on its channel. Never splits a character; may cover several tokens, or none. */
export interface ChannelDelta extends Omit<TextDelta, 'pieces'> {
  channel: 'content' | 'reasoning';
}

/**
 * Puts the text of one choice on the content and reasoning channels and counts the tokens of both. Tokens of a tag
 * count as reasoning. Looks at each piece of a joined delta separately, so that joining changes nothing.
 */
export class ChoiceChannels {
  reasoningTokens = 0;
  private readonly splitter: ThinkSplitter;
  private waitingTokens = 0;
  private waitingLogprobs: GeneratedTokenLogprob[] = [];

  constructor(
    private readonly index: number,
    private readonly options: { startsInside: boolean; stripThinking: boolean; format?: ReasoningFormat },
  ) {
    this.splitter = new ThinkSplitter(options);
  }

  push(delta: EngineDelta): ChannelDelta[] {
    if (delta.pieces === undefined) return this.pushPiece(delta);
    return joined(takenApart(delta, delta.pieces).flatMap((piece) => this.pushPiece(piece)));
  }

  private pushPiece({ text, tokens, logprobs }: EngineDelta): ChannelDelta[] {
    const wasInside = this.splitter.isInside;
    this.waitingTokens += tokens;
    if (logprobs !== null) this.waitingLogprobs.push(...logprobs);
    const segments = this.splitter.push(text);
    const reasoning = wasInside || this.splitter.isInside;
    // It is not known yet whether this is a tag: its tokens wait for what follows.
    if (segments.length === 0 && this.splitter.isHolding && !reasoning) return [];
    return this.settle(segments, { reasoning, withLogprobs: logprobs !== null });
  }

  /** Returns the remainder when the choice has ended; `isCut`: at the token limit. */
  finish(isCut = false): ChannelDelta[] {
    const segments = this.splitter.flush(isCut);
    const { isInside } = this.splitter;
    if (segments.length === 0 && this.waitingTokens === 0) return [];
    return this.settle(segments, { reasoning: isInside, withLogprobs: this.waitingLogprobs.length > 0 });
  }

  private settle(
    segments: ThinkSegment[],
    { reasoning, withLogprobs }: { reasoning: boolean; withLogprobs: boolean },
  ): ChannelDelta[] {
    if (reasoning) this.reasoningTokens += this.waitingTokens;
    const shown = segments.filter(({ channel }) => channel === 'content' || !this.options.stripThinking);
    const hidden = reasoning && this.options.stripThinking;
    // Tokens without text at the end of a response still carry their count and log-probabilities.
    if (shown.length === 0 && !hidden) shown.push({ channel: reasoning ? 'reasoning' : 'content', text: '' });
    const events = shown.map<ChannelDelta>(({ channel, text }, place) => ({
      type: 'text-delta',
      index: this.index,
      channel,
      text,
      tokens: place === 0 ? this.waitingTokens : 0,
      logprobs: withLogprobs ? (place === 0 && !hidden ? this.waitingLogprobs : []) : null,
    }));
    this.waitingTokens = 0;
    this.waitingLogprobs = [];
    return events;
  }
}

function takenApart({ text, logprobs }: EngineDelta, pieces: readonly DeltaPiece[]): EngineDelta[] {
  let [textAt, logprobsAt] = [0, 0];
  return pieces.map(([characters, tokens, entries]) => {
    const piece = {
      text: text.slice(textAt, textAt + characters),
      tokens,
      logprobs: logprobs && logprobs.slice(logprobsAt, logprobsAt + entries),
    };
    textAt += characters;
    logprobsAt += entries;
    return piece;
  });
}

/** Joins neighbors of one channel into one event: they arrived in one message and leave in one. */
function joined(events: readonly ChannelDelta[]): ChannelDelta[] {
  const result: ChannelDelta[] = [];
  for (const event of events) {
    const last = result.at(-1);
    if (last === undefined || last.channel !== event.channel) {
      result.push(event);
      continue;
    }
    last.text += event.text;
    last.tokens += event.tokens;
    if (event.logprobs !== null) last.logprobs = [...(last.logprobs ?? []), ...event.logprobs];
  }
  return result;
}
