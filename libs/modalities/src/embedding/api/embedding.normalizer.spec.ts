import { describe, expect, it } from 'vitest';
import { validateWire } from '#platform/validation';
import { EmbeddingRequest } from '../contract/embedding.request.js';
import { normalizeEmbedding } from './embedding.normalizer.js';

const members = { embeddingDimensions: 384, maxInputTokens: 512, supportsCustomDimensions: true };

function read(body: object) {
  return validateWire(EmbeddingRequest, { model: 'm', ...body });
}

describe('an embedding request', () => {
  it.each([
    ['a text', { input: 'one' }],
    ['texts', { input: ['one', ' '] }],
    ['as many texts as fit', { input: Array.from({ length: 2_048 }, () => 'x') }],
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
    ['token ids', { input: [1, 2, 3] }, 'input', /token ids are not taken/],
    ['lists of token ids', { input: [[1, 2], [3]] }, 'input', /token ids are not taken/],
    ['ids outside every vocabulary', { input: [2_000_000_000, -1] }, 'input', /token ids are not taken/],
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

  it('is rejected for unsupported dimensions', () => {
    const wide = read({ input: 'a', dimensions: 385 });
    expect(() => normalizeEmbedding(wide, members)).toThrow('must not be greater than the 384 of this model');
    const fixed = { ...members, supportsCustomDimensions: false };
    expect(() => normalizeEmbedding(read({ input: 'a', dimensions: 384 }), fixed)).toThrow(
      'does not support specifying dimensions',
    );
  });

  it('is rejected for a text with more words than the model takes tokens', () => {
    const texts = { input: ['a', 'river '.repeat(3_000_000)] };
    const startedAt = process.cpuUsage();
    expect(() => normalizeEmbedding(read(texts), members)).toThrow(
      'The text at position 1 has more than 512 tokens; this model takes 512.',
    );
    expect(process.cpuUsage(startedAt).user).toBeLessThan(500_000);
    expect(() => normalizeEmbedding(read({ input: 'a '.repeat(513) }), members)).toThrow('The input has more than 512');
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
