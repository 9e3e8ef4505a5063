import { describe, expect, it } from 'vitest';
import type { TaskContext } from '../../engines/queued-task.engine.js';
import type { MergedDecoder } from '../../recognition/merged-decoder.js';
import type { GraphTensor } from '../../runtime/graph-session.js';
import { isSilence, WindowDecoder } from './window-decoder.js';
import type { WhisperTokens } from './whisper.tokens.js';

/* Twelve words, the end, the start, the task, a language, no speech, no timestamps; timestamps follow. */
const ids = { end: 12, start: 13, language: 14, task: 15, noSpeech: 16, noTimes: 17 };
const size = 24;

function tokensOf(changed: object = {}): WhisperTokens {
  return {
    endOfText: ids.end,
    startOfTranscript: ids.start,
    noTimestamps: ids.noTimes,
    noSpeech: ids.noSpeech,
    timestampBegin: ids.noTimes + 1,
    maxFirstTimestamp: 50,
    languages: new Map([
      ['en', ids.language],
      ['de', 11],
    ]),
    isMultilingual: true,
    suppressed: [ids.noSpeech],
    suppressedFirst: [],
    settings: { max_target_positions: 160 },
    startSequence: () => [ids.start, ids.language, ids.task],
    promptTokens: (prompt: string | null) => (prompt === null ? [] : [3, 4]),
    decode: (list: number[]) =>
      list
        .filter((id) => id < ids.end)
        .map((id) => ` w${id}`)
        .join(''),
    isTimestamp: (id: number) => id > ids.noTimes,
    ...changed,
  } as unknown as WhisperTokens;
}

const context = {
  yieldToEventLoop: async () => undefined,
  measure: (run: () => Promise<unknown>) => run(),
} as unknown as TaskContext;

/** Decoder that prefers `next` of the text so far; `spread` flattens its distribution. */
function decoderOf(next: (written: number[], attempt: number) => Record<number, number>) {
  const fed: number[][] = [];
  let attempt = -1;
  const decoder = {
    vocabularySize: size,
    begin: () => {
      attempt++;
      const all: number[] = [];
      let prompt = 0;
      return {
        feed: async (given: number[]) => {
          if (all.length === 0) prompt = given.length;
          all.push(...given);
          fed.push(given);
          const logits = new Float32Array(given.length * size);
          const last = logits.subarray((given.length - 1) * size);
          for (const [id, logit] of Object.entries(next(all.slice(prompt), attempt))) last[Number(id)] = logit;
          return { logits, tokens: given.length, crossAttentions: new Map() };
        },
        release: () => undefined,
      };
    },
  };
  return { decoder: decoder as unknown as MergedDecoder, fed, attempts: () => attempt + 1 };
}

const encoded = {} as GraphTensor;
const options = { encoded, language: 'en', prompt: null, timestamps: false, temperature: 0 };

describe('the text of a window', () => {
  it('ends at the end token, which counts in its likelihood', async () => {
    const { decoder, fed } = decoderOf((written) =>
      written.length < 3 ? { [written.length]: 30 } : { [ids.end]: 30 },
    );
    const text = await new WindowDecoder(decoder, tokensOf()).write({ ...options, prompt: 'names' }, context);
    expect(text).toMatchObject({ tokens: [0, 1, 2], text: ' w0 w1 w2', temperature: 0 });
    expect(text.avgLogprob).toBeCloseTo(0, 5);
    expect(fed).toEqual([[3, 4, ids.start, ids.language, ids.task, ids.noTimes], [0], [1], [2]]);
  });

  it('is retried at a higher temperature when it is unlikely', async () => {
    const { decoder, attempts } = decoderOf((written, attempt) =>
      attempt < 2 ? (written.length < 4 ? {} : { [ids.end]: 3 }) : { [written.length < 2 ? 5 : ids.end]: 40 },
    );
    const text = await new WindowDecoder(decoder, tokensOf()).write(options, context);
    expect([attempts(), text.temperature, text.tokens]).toEqual([3, 0.4, [5, 5]]);
  });

  it("is accepted as it is at the client's temperature", async () => {
    const { decoder, attempts } = decoderOf((written) => (written.length < 4 ? {} : { [ids.end]: 60 }));
    const writer = new WindowDecoder(decoder, tokensOf());
    const text = await writer.write({ ...options, temperature: 0.7 }, context);
    expect([attempts(), text.temperature]).toEqual([1, 0.7]);
    const again = await writer.write({ ...options, temperature: 0.7 }, context);
    expect(again.tokens).toEqual(text.tokens);
  });

  it('stops in a loop before its token limit, retries at a higher temperature, and keeps one round', async () => {
    const { decoder, fed, attempts } = decoderOf((written) => ({ [written.length % 3]: 60 }));
    const text = await new WindowDecoder(decoder, tokensOf()).write(options, context);
    expect(attempts()).toBe(6);
    expect(fed.length / 6).toBeLessThan(50);
    expect(text.tokens).toEqual([0, 1, 2]);
    expect(text).toMatchObject({ isLoop: true, temperature: 0 });
  });

  it('is the likeliest failed try that is not a loop', async () => {
    const { decoder } = decoderOf((written, attempt) => {
      if (attempt === 0) return { [written.length % 3]: 60 };
      const last = written.length < 4 ? {} : { [ids.end]: 60 };
      return attempt === 2 ? { ...last, 7: 2.5 } : last;
    });
    const text = await new WindowDecoder(decoder, tokensOf()).write(options, context);
    expect([text.temperature, text.isLoop]).toEqual([0.4, false]);
  });

  it('ends at its token limit', async () => {
    let state = 1;
    const { decoder } = decoderOf(() => {
      state = (state * 48_271) % 2_147_483_647;
      return { [state % 12]: 60 };
    });
    const text = await new WindowDecoder(decoder, tokensOf()).write({ ...options, temperature: 0.1 }, context);
    expect(text.tokens).toHaveLength(80);
  });

  it.each([true, false])(
    "stays within the model's positions after a long prompt, with timestamps: %s",
    async (timestamps) => {
      let state = 1;
      const { decoder, fed } = decoderOf(() => {
        state = (state * 48_271) % 2_147_483_647;
        return { [state % 12]: 60 };
      });
      const tokens = tokensOf({
        settings: { max_target_positions: 40 },
        promptTokens: (_: string | null, max: number) => [ids.start, ...new Array<number>(max).fill(3)],
      });
      const text = await new WindowDecoder(decoder, tokens).write(
        { ...options, prompt: 'long', timestamps, temperature: 0.1 },
        context,
      );
      expect(fed.flat().length).toBe(40);
      expect(text.tokens).toHaveLength(timestamps ? 17 : 16);
    },
  );

  it('is silence when it is unlikely and the model detects no speech', async () => {
    expect(isSilence({ avgLogprob: -1.5, noSpeechProb: 0.8 } as never)).toBe(true);
    expect(isSilence({ avgLogprob: -0.5, noSpeechProb: 0.8 } as never)).toBe(false);
    expect(isSilence({ avgLogprob: -1.5, noSpeechProb: 0.1 } as never)).toBe(false);
  });
});

describe('the language of a window', () => {
  it('is the likeliest, or null for a model with a single language', async () => {
    const { decoder } = decoderOf(() => ({ [ids.language]: 3, 11: 4, 2: 9 }));
    expect(await new WindowDecoder(decoder, tokensOf()).detectLanguage(encoded, context)).toBe('de');
    const english = tokensOf({ isMultilingual: false });
    expect(await new WindowDecoder(decoder, english).detectLanguage(encoded, context)).toBeNull();
  });
});
