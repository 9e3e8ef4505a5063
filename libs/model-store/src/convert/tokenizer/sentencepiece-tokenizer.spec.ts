import { Tokenizer } from '@huggingface/tokenizers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sentencePieces } from '#test/tiny-models/source-formats';
import { tinyDecoder } from '#test/tiny-models/tiny-shapes';
import { mergesFromScores, sentencePieceTokenizerJson } from './sentencepiece-tokenizer.js';
import type { AddedToken } from './tokenizer-json.js';

const { pieces, scores } = sentencePieces(tinyDecoder('llama', 1));
const added: AddedToken[] = ['<unk>', '<s>', '</s>'].map((content, id) => ({ id, content, special: true }));
const [unknown = null, bos = null, eos = null] = added;

/**
 * SentencePiece reference: joins the adjacent pieces with the best score, the leftmost of equals, until none remain.
 */
function encodeByScores(text: string): number[] {
  const ids = new Map(pieces.map((piece, id) => [piece, id]));
  const parts = [...`▁${text.replaceAll(' ', '▁')}`];
  for (;;) {
    let best = -1;
    let bestScore = -Infinity;
    for (let index = 0; index + 1 < parts.length; index++) {
      const id = ids.get(`${parts[index]}${parts[index + 1]}`);
      const score = id === undefined ? -Infinity : (scores[id] ?? -Infinity);
      if (score > bestScore) [best, bestScore] = [index, score];
    }
    if (best < 0) break;
    parts.splice(best, 2, `${parts[best]}${parts[best + 1]}`);
  }
  return parts.flatMap((part) => {
    const id = ids.get(part);
    if (id !== undefined) return [id];
    return [...Buffer.from(part)].map((byte) => 3 + byte);
  });
}

describe('sentencePieceTokenizerJson', () => {
  const json = sentencePieceTokenizerJson({
    pieces,
    scores,
    added,
    unknown,
    bos,
    eos,
    addsBos: true,
    addsEos: false,
    addsSpace: true,
  });
  const tokenizer = new Tokenizer(json, {});

  it('splits text by the scores, with BOS at the start', () => {
    const words = fc.constantFrom(
      'the ',
      'river',
      ' there',
      'once upon',
      's',
      'tone',
      '漢',
      '🙂',
      ' ',
      'Z',
      'answer',
      '\n',
    );
    const texts = fc.array(words, { minLength: 1, maxLength: 12 }).map((list) => list.join(''));
    fc.assert(
      fc.property(texts, (text) => {
        expect(tokenizer.encode(text).ids).toEqual([1, ...encodeByScores(text)]);
      }),
      { numRuns: 300 },
    );
  });
});

describe('mergesFromScores', () => {
  it('lists every pair that forms a piece, the best score first', () => {
    const vocabulary = {
      pieces: ['<unk>', 'a', 'b', 'c', 'ab', 'bc', 'abc', '<0x41>'],
      scores: [0, -9, -9, -9, -2, -1, -3, 0],
    };
    expect(mergesFromScores({ ...vocabulary, added: [{ id: 0, content: '<unk>', special: true }] })).toEqual([
      'b c',
      'a b',
      'a bc',
      'ab c',
    ]);
  });

  it('supports pieces named like object members', () => {
    const vocabulary = { pieces: ['con', 'structor', 'constructor', '__proto__'], scores: [0, 0, -1, 0] };
    expect(mergesFromScores({ ...vocabulary, added: [] })).toEqual(['con structor']);
  });
});
