import { describe, expect, it } from 'vitest';
import { validateBody } from '#platform/validation';
import { RerankRequest } from '../contract/rerank.request.js';
import { normalizeRerank, promptOf } from './rerank.normalizer.js';

function read(body: object) {
  return validateBody(RerankRequest, { model: 'm', query: 'q', ...body });
}

describe('a rerank request', () => {
  it.each([
    ['texts', { documents: ['a', ' '] }],
    ['objects with a text', { documents: [{ text: 'a', title: 't' }, 'b'] }],
    ['as many documents as fit', { documents: Array.from({ length: 1_000 }, () => 'x') }],
    ['all options', { documents: ['a'], top_n: 5, return_documents: true, max_tokens_per_doc: 64 }],
    ['fields that are ignored', { documents: ['a'], rank_fields: ['text'], max_chunks_per_doc: 3, top_n: null }],
  ])('has %s', (_name, body) => {
    expect(read(body)).toMatchObject(body);
  });

  it.each([
    ['no documents', {}, 'documents', 'documents is required.'],
    ['an empty list', { documents: [] }, 'documents', 'documents must hold at least one document.'],
    [
      'one document too many',
      { documents: Array.from({ length: 1_001 }, () => 'x') },
      'documents',
      /at most 1000 documents; this one has 1001/,
    ],
    ['an empty document', { documents: ['a', ''] }, 'documents', /unlike the one at position 1/],
    ['an object without a text', { documents: [{ title: 'a' }] }, 'documents', /unlike the one at position 0/],
    ['a number', { documents: ['a', 7] }, 'documents', /unlike the one at position 1/],
    ['something else', { documents: 'a' }, 'documents', /must be an array of 1 to 1000 documents/],
    ['no query', { query: '', documents: ['a'] }, 'query', /longer than or equal to 1/],
    ['no result', { documents: ['a'], top_n: 0 }, 'top_n', /must not be less than 1/],
    ['no token', { documents: ['a'], max_tokens_per_doc: 0 }, 'max_tokens_per_doc', /must not be less than 1/],
    ['a word for a flag', { documents: ['a'], return_documents: 'yes' }, 'return_documents', /boolean/],
  ])('does not have %s', (_name, body, param, message) => {
    expect(() => read(body)).toThrow(message);
    try {
      read(body);
    } catch (error) {
      expect(error).toMatchObject({ code: 'INVALID_REQUEST', param });
    }
  });

  it('becomes a job with the texts of its documents', () => {
    const body = read({ documents: [{ text: 'a' }, 'b'], max_tokens_per_doc: 64 });
    expect(normalizeRerank(body)).toEqual({ query: 'q', documents: ['a', 'b'], maxTokensPerDocument: 64 });
    expect(normalizeRerank(read({ documents: ['a'] })).maxTokensPerDocument).toBeNull();
  });

  it('has an instruction only for models whose prompt has a place for it', () => {
    const body = read({ documents: ['a'], instruction: 'Find boats.' });
    const options = { template: '{instruction} {query} {document}', instruction: 'Find.' };
    expect(normalizeRerank(body, promptOf({ familyOptions: options }))).toMatchObject({ instruction: 'Find boats.' });
    expect(normalizeRerank(read({ documents: ['a'] }), promptOf({ familyOptions: options }))).not.toHaveProperty(
      'instruction',
    );
    for (const familyOptions of [undefined, { template: '{query} {document}' }]) {
      expect(() => normalizeRerank(body, promptOf({ familyOptions }))).toThrow('This model reads no instruction.');
    }
    expect(() => read({ documents: ['a'], instruction: '' })).toThrow(/longer than or equal to 1/);
  });
});
