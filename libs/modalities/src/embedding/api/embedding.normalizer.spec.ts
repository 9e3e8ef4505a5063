import { describe, expect, it } from 'vitest';
import { validateBody } from '#platform/validation';
import { leastProcessorMs } from '#test/processor-time';
import { EmbeddingRequest } from '../contract/embedding.request.js';
import { normalizeEmbedding } from './embedding.normalizer.js';

const members = { embeddingDimensions: 384, maxInputTokens: 512, supportsCustomDimensions: true };

function read(body: object) {
  return validateBody(EmbeddingRequest, { model: 'm', ...body });
}

describe('an embedding request', () => {
  it.each([
    ['a text', { input: 'one' }],
    ['texts', { input: ['one', ' '] }],
    ['as many texts as fit', { input: Array.from({ length: 2_048 }, () => 'x') }],
    ['token ids', { input: [101, 7592, 102] }],
    ['lists of token ids', { input: [[101, 102], [5]] }],
    ['fields that are ignored', { input: 'one', user: 'u', other: 1, encoding_format: null, dimensions: null }],
  ])('is %s', (_name, body) => {
    expect(read(body)).toMatchObject(body);
  });

  it.each([
    ['no input', {}, 'input', 'input is required.'],
    ['an empty text', { input: '' }, 'input', 'input must not be empty.'],
    ['no text', { input: [] }, 'input', 'input must hold at least one text.'],
    ['an empty text among others', { input: ['a', ''] }, 'input', /empty text, as at position 1/],
    [
      'one text too many',
      { input: Array.from({ length: 2_049 }, () => 'x') },
      'input',
      /at most 2048 texts; this one has 2049/,
    ],
    ['ids outside every vocabulary', { input: [2_000_000_000, -1] }, 'input', /whole numbers from 0/],
    ['half a token', { input: [[1], [1.5]] }, 'input', /whole numbers from 0/],
    ['an empty list of token ids', { input: [[1], []] }, 'input', /not empty/],
    ['token ids among texts', { input: ['a', [1]] }, 'input', /must be a string or an array of strings/],
    ['texts among token ids', { input: [[1], 'a'] }, 'input', /lists of token ids/],
    ['lists one too many', { input: Array.from({ length: 2_049 }, () => [1]) }, 'input', /at most 2048/],
    ['something else', { input: { text: 'a' } }, 'input', /must be a string or an array of 1 to 2048 strings/],
    ['nothing among texts', { input: ['a', null] }, 'input', /must be a string or an array of strings/],
    ['an unknown format', { input: 'a', encoding_format: 'int8' }, 'encoding_format', /must be one of: float, base64/],
    ['zero dimensions', { input: 'a', dimensions: 0 }, 'dimensions', /must not be less than 1/],
    ['half a dimension', { input: 'a', dimensions: 1.5 }, 'dimensions', /integer/],
    ['no model', { model: '', input: 'a' }, 'model', /longer than or equal to 1/],
  ])('is not %s', (_name, body, param, message) => {
    expect(() => read(body)).toThrow(message);
    try {
      read(body);
    } catch (error) {
      expect(error).toMatchObject({ code: 'INVALID_REQUEST', param });
    }
  });
});

describe('the job of an embedding request', () => {
  it("has the texts, and the dimensions if they differ from the model's", () => {
    expect(normalizeEmbedding(read({ input: 'a' }), members)).toEqual({ texts: ['a'], dimensions: null });
    expect(normalizeEmbedding(read({ input: ['a', 'b'], dimensions: 64 }), members)).toEqual({
      texts: ['a', 'b'],
      dimensions: 64,
    });
    expect(normalizeEmbedding(read({ input: 'a', dimensions: 384 }), members).dimensions).toBeNull();
  });

  it('has the token ids of each text', () => {
    const tokenIds = [[101, 102]];
    expect(normalizeEmbedding(read({ input: [101, 102] }), members)).toEqual({ texts: [], tokenIds, dimensions: null });
    expect(normalizeEmbedding(read({ input: [[101], [5]] }), members).tokenIds).toEqual([[101], [5]]);
    const long = read({ input: [[1], Array.from({ length: 513 }, () => 1)] });
    expect(() => normalizeEmbedding(long, members)).toThrow(
      expect.objectContaining({ code: 'TOO_MANY_TOKENS', param: 'input[1]' }),
    );
  });

  it('is rejected for unsupported dimensions', () => {
    const wide = read({ input: 'a', dimensions: 385 });
    expect(() => normalizeEmbedding(wide, members)).toThrow('must not be greater than the 384 of this model');
    const fixed = { ...members, supportsCustomDimensions: false };
    expect(() => normalizeEmbedding(read({ input: 'a', dimensions: 384 }), fixed)).toThrow(
      'does not support specifying dimensions',
    );
  });

  it('is truncated only to the lengths that the model lists', () => {
    const listed = { ...members, matryoshkaDimensions: [256, 128] };
    const dimensionsOf = (dimensions: number) =>
      normalizeEmbedding(read({ input: 'a', dimensions }), listed).dimensions;
    expect([dimensionsOf(128), dimensionsOf(384)]).toEqual([128, null]);
    expect(() => dimensionsOf(64)).toThrow('dimensions must be one of 256, 128, 384 for this model.');
  });

  it('has the prefix of its kind of texts in front of each', () => {
    const prefixes = { queryPrefix: 'query: ', documentPrefix: 'passage: ' };
    const textsOf = (body: object, options = prefixes) => normalizeEmbedding(read(body), members, options).texts;
    expect(textsOf({ input: ['a', 'b'], input_type: 'query' })).toEqual(['query: a', 'query: b']);
    expect(textsOf({ input: 'a', input_type: 'document' })).toEqual(['passage: a']);
    expect(textsOf({ input: 'a' })).toEqual(['a']);
    expect(normalizeEmbedding(read({ input: 'a', input_type: 'query' }), members).texts).toEqual(['a']);
    const ids = read({ input: [101, 102], input_type: 'query' });
    expect(normalizeEmbedding(ids, members, prefixes)).toMatchObject({ texts: [], tokenIds: [[101, 102]] });
    expect(() => read({ input: 'a', input_type: 'title' })).toThrow('input_type must be one of: query, document');
  });

  it('is rejected for a text with more words than the model takes tokens', () => {
    const texts = { input: ['a', 'river '.repeat(3_000_000)] };
    const normalize = () =>
      expect(() => normalizeEmbedding(read(texts), members)).toThrow(
        "This model's maximum context length is 512 tokens. However, the text at position 1 has more than 512 tokens.",
      );
    expect(leastProcessorMs(500, normalize)).toBeLessThan(500);
    expect(() => normalizeEmbedding(read({ input: 'a '.repeat(513) }), members)).toThrow('the input has more than 512');
  });

  it('leaves exact token counts to the worker', () => {
    for (const input of [
      'a '.repeat(512),
      'a'.repeat(10_000),
      '水'.repeat(10_000),
      ' '.repeat(10_000),
      '… '.repeat(5_000),
    ]) {
      expect(normalizeEmbedding(read({ input }), members).texts).toEqual([input]);
    }
  });
});
