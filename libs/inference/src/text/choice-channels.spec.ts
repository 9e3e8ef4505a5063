import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeltaPiece } from '../contract/text-generation.js';
import { type ChannelDelta, ChoiceChannels, type EngineDelta } from './choice-channels.js';

/** One token with its score. */
function scored(text: string): EngineDelta {
  return { text, tokens: 1, logprobs: [{ token: text, logprob: -1, bytes: null, topLogprobs: [] }] };
}

function join(deltas: readonly EngineDelta[]): EngineDelta {
  return {
    text: deltas.map(({ text }) => text).join(''),
    tokens: deltas.reduce((sum, { tokens }) => sum + tokens, 0),
    logprobs: deltas.flatMap(({ logprobs }) => logprobs ?? []),
    pieces: deltas.map(({ text, tokens, logprobs }): DeltaPiece => [text.length, tokens, logprobs?.length ?? 0]),
  };
}

/** Collects the events by channel, as a client does. */
function answerOf(groups: readonly EngineDelta[], options: { startsInside: boolean; stripThinking: boolean }) {
  const channels = new ChoiceChannels(0, options);
  const events = [...groups.flatMap((delta) => channels.push(delta)), ...channels.finish()];
  const of = (channel: ChannelDelta['channel']) => {
    const own = events.filter((event) => event.channel === channel);
    return {
      text: own.map(({ text }) => text).join(''),
      tokens: own.reduce((sum, { tokens }) => sum + tokens, 0),
      scored: own.flatMap(({ logprobs }) => (logprobs ?? []).map(({ token }) => token)),
    };
  };
  return { reasoningTokens: channels.reasoningTokens, content: of('content'), reasoning: of('reasoning') };
}

describe('the channels of a choice', () => {
  const pieces = ['<think>', 'hm', ' so', '</think>', 'yes', '!'].map(scored);

  it('count the tokens of a response that arrives in one message with its reasoning as tokens of the response', () => {
    const answer = answerOf([join(pieces)], { startsInside: false, stripThinking: false });
    expect(answer).toEqual({
      reasoningTokens: 4,
      reasoning: { text: 'hm so', tokens: 4, scored: ['<think>', 'hm', ' so', '</think>'] },
      content: { text: 'yes!', tokens: 2, scored: ['yes', '!'] },
    });
  });

  it('join neighbors of one channel into one event', () => {
    const channels = new ChoiceChannels(0, { startsInside: false, stripThinking: false });
    expect(channels.push(join(pieces))).toMatchObject([
      { channel: 'reasoning', text: 'hm so' },
      { channel: 'content', text: 'yes!' },
    ]);
  });

  it('produce the same text however the pieces were joined', () => {
    const piece = fc.constantFrom('<think>', '</think>', '<', 'th', 'ink', '>', '</', 'a', ' b', '', '\n');
    const groups = fc.array(fc.array(piece, { minLength: 1, maxLength: 6 }), { maxLength: 6 });
    fc.assert(
      fc.property(groups, fc.boolean(), fc.boolean(), (texts, startsInside, stripThinking) => {
        const options = { startsInside, stripThinking };
        const deltas = texts.map((group) => group.map(scored));
        expect(answerOf(deltas.map(join), options)).toEqual(answerOf(deltas.flat(), options));
      }),
    );
  });
});
