import type { WireError } from '#common';
import { sealText } from '#tee/sealing';
import type { EngineEvent } from '../contract/engine.js';
import type { ReasoningFormat } from '../contract/reasoning-format.js';
import type { RequestSealing, SealedDelta } from '../contract/text-generation.js';
import { type ChannelDelta, ChoiceChannels } from '../text/choice-channels.js';

/**
 * Seals what leaves the host for one request: each piece of text with a fresh key. Every event is written anew from the
 * members that say nothing of a text, so that a member which is added to an event does not leave by itself.
 */
export class SealedOutput {
  private readonly choices = new Map<number, ChoiceChannels>();
  private startsInside = false;
  private reasoning: ReasoningFormat | undefined;

  constructor(
    private readonly clientKey: Uint8Array,
    private readonly options: Pick<RequestSealing, 'stripThinking'>,
  ) {}

  translate(event: EngineEvent): EngineEvent[] {
    switch (event.type) {
      case 'prompt-ready': {
        const { type, promptTokens, cachedTokens, opensThinking = false, reasoning } = event;
        this.startsInside = opensThinking;
        this.reasoning = reasoning;
        return [{ type, promptTokens, cachedTokens }];
      }
      case 'constraint-ready':
        return [{ type: 'constraint-ready' }];
      case 'text-delta':
        return this.seal(event.index, (choice) => choice.push({ ...event, logprobs: null }));
      case 'choice-finished': {
        const { type, index, finishReason } = event;
        const rest = this.seal(index, (choice) => choice.finish(finishReason === 'length'));
        return [...rest, { type, index, finishReason }];
      }
      case 'finished': {
        const { type, cancelled, usage } = event;
        return [{ type, cancelled, usage: { ...usage, reasoningTokens: this.reasoningTokens } }];
      }
      case 'failed':
        return [{ type: 'failed', error: withoutText(event.error), usage: event.usage }];
      default:
        return [];
    }
  }

  private get reasoningTokens(): number {
    return [...this.choices.values()].reduce((sum, choice) => sum + choice.reasoningTokens, 0);
  }

  private seal(index: number, read: (choice: ChoiceChannels) => ChannelDelta[]): SealedDelta[] {
    const choice = this.choice(index);
    const before = choice.reasoningTokens;
    const deltas = read(choice);
    const reasoningTokens = choice.reasoningTokens - before;
    return deltas.map(({ channel, text, tokens }, position) => ({
      type: 'sealed-delta',
      index,
      channel,
      field: text === '' ? '' : sealText(text, this.clientKey),
      tokens,
      reasoningTokens: position === 0 ? reasoningTokens : 0,
    }));
  }

  private choice(index: number): ChoiceChannels {
    const known = this.choices.get(index);
    if (known !== undefined) return known;
    const { startsInside, reasoning: format } = this;
    const choice = new ChoiceChannels(index, { startsInside, format, stripThinking: this.options.stripThinking });
    this.choices.set(index, choice);
    return choice;
  }
}

/** The same failure without its words: a chat template may quote a message. Those of a prompt that is too long are numbers. */
export function withoutText({ code, message, param }: WireError): WireError {
  if (code === 'TOO_MANY_TOKENS') return { code, message, param };
  const isRefusal = code === 'INVALID_REQUEST';
  const text = isRefusal ? 'The model does not take this sealed conversation.' : 'The model failed on this request.';
  return { code, message: text, param };
}
