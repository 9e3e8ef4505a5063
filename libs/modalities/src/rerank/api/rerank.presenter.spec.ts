import { describe, expect, it } from 'vitest';
import { presentRerank, ScoreCollector } from './rerank.presenter.js';

function collected(): number[] {
  const collector = new ScoreCollector(3);
  collector.add({ type: 'scores-ready', indexes: [2, 0], scores: [0.9, 0.5] });
  collector.add({ type: 'scores-ready', indexes: [1], scores: [0.9] });
  // A worker that took over sends the same scores again.
  collector.add({ type: 'scores-ready', indexes: [0], scores: [0.5] });
  return collector.all();
}

const result = { requestId: 'r1', modelId: 'm', promptTokens: 7, documents: null, top: null };

describe('the response to a rerank request', () => {
  it('has the most relevant document first, equal ones in their order', () => {
    expect(presentRerank({ ...result, scores: collected() })).toEqual({
      id: 'r1',
      model: 'm',
      results: [
        { index: 1, relevance_score: 0.9 },
        { index: 2, relevance_score: 0.9 },
        { index: 0, relevance_score: 0.5 },
      ],
      usage: { prompt_tokens: 7, total_tokens: 7 },
      meta: { tokens: { input_tokens: 7, output_tokens: 0 } },
    });
  });

  it('has as many results as requested, with their documents on request', () => {
    const { results } = presentRerank({ ...result, scores: collected(), top: 2, documents: ['a', 'b', 'c'] });
    expect(results).toEqual([
      { index: 1, relevance_score: 0.9, document: { text: 'b' } },
      { index: 2, relevance_score: 0.9, document: { text: 'c' } },
    ]);
    expect(presentRerank({ ...result, scores: [0.1], top: 9 }).results).toHaveLength(1);
  });

  it('fails when a score is missing', () => {
    const collector = new ScoreCollector(2);
    collector.add({ type: 'scores-ready', indexes: [0], scores: [0.5] });
    expect(() => collector.all()).toThrow('ended before it was complete');
    const uneven = () => collector.add({ type: 'scores-ready', indexes: [0, 1], scores: [0.5] });
    expect(uneven).toThrow('ended before it was complete');
  });
});
