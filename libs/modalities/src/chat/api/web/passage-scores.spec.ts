import { describe, expect, it, vi } from 'vitest';
import { PlatformError } from '#common';
import type { ModelRequest } from '#gateway';
import type { FreeTexts } from '#gateway/inputs';
import { testDouble } from '#test/test-double';
import { PassageScores } from './passage-scores.js';

const opened = { http: {} } as ModelRequest;
const { signal } = new AbortController();
const question = 'When is high water?';

/** A model whose vectors say whether a text has an even number. */
const vectorOf = (text: string) => (text === question || /\b\d*[02468]\b/.test(text) ? [1, 0] : [0, 1]);

function scoresOf(embed: (input: FreeTexts) => Promise<number[][]>, openInput = async () => opened) {
  const logger = { warn: vi.fn() };
  const embedFreely = vi.fn((_model: ModelRequest, input: FreeTexts) => embed(input));
  return {
    scores: new PassageScores(testDouble({ openInput }), testDouble({ embedFreely }), testDouble(logger)),
    embedFreely,
    logger,
  };
}

describe('scores of passages', () => {
  const passages = ['High water is late.', 'The number 2.', 'The number 3.'];

  it('are those of the embedding model', async () => {
    const { scores } = scoresOf(async ({ texts }) => texts.map(vectorOf));
    expect(await scores.of(question, passages, { opened, signal })).toEqual([0, 1, 0]);
  });

  it('come from a bounded number of vectors; the passages without one follow', async () => {
    const { scores, embedFreely } = scoresOf(async ({ texts }) => texts.map(vectorOf));
    const many = Array.from({ length: 200 }, (_, index) => `The number ${index}.`);
    const found = await scores.of(question, [...many, passages[0] ?? ''], { opened, signal });
    expect(embedFreely.mock.calls[0]?.[1].texts).toHaveLength(49);
    expect(found.filter((score) => score >= 0)).toHaveLength(48);
    expect(found.at(-1)).toBe(0);
  });

  it('come from texts of a bounded length, without addresses', async () => {
    const { scores, embedFreely } = scoresOf(async ({ texts }) => texts.map(vectorOf));
    const long = `The number 2 [here](https://example.com/a). ${'1,3,5,'.repeat(1_000)}`;
    expect(await scores.of(question, [long, 'https://example.com/'], { opened, signal })).toEqual([1, 0]);
    const [, text = '', address] = embedFreely.mock.calls[0]?.[1].texts ?? [];
    expect([text.slice(0, 20), text.length, address]).toEqual(['The number 2 [here].', 1_200, '-']);
  });

  it('are those of words where no model is served, without a word about it', async () => {
    const offline = () => Promise.reject(new PlatformError('MODEL_OFFLINE', 'x'));
    const { scores, logger } = scoresOf(async () => [], offline);
    const found = await scores.of(question, passages, { opened, signal });
    expect(found.indexOf(Math.max(...found))).toBe(0);
    expect(logger.warn).not.toHaveBeenCalled();
  });

  it('are those of words where the model fails, which the log names', async () => {
    const { scores, logger } = scoresOf(() => Promise.reject(new PlatformError('INFERENCE_FAILED', 'x')));
    const found = await scores.of(question, passages, { opened, signal });
    expect(found.indexOf(Math.max(...found))).toBe(0);
    expect(logger.warn).toHaveBeenCalledOnce();
  });

  it('are those of words where the time is over', async () => {
    const ended = new AbortController();
    const { scores, logger } = scoresOf(() => new Promise(() => undefined));
    const found = scores.of(question, passages, { opened, signal: ended.signal });
    ended.abort();
    expect((await found).indexOf(Math.max(...(await found)))).toBe(0);
    expect(logger.warn).not.toHaveBeenCalled();
  });
});
