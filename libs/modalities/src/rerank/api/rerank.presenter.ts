import { PlatformError } from '#common';
import type { RerankEvent } from '../contract/rerank.events.js';
import type { RerankResponse } from '../contract/rerank.response.js';

/** Collects the scores of one request. */
export class ScoreCollector {
  private readonly scores: (number | null)[];

  constructor(count: number) {
    this.scores = Array.from({ length: count }, () => null);
  }

  add({ indexes, scores }: RerankEvent): void {
    if (indexes.length !== scores.length) throw incomplete();
    for (const [row, index] of indexes.entries()) this.scores[index] = scores[row] ?? null;
  }

  /** Returns them in the order of the documents. Throws `INFERENCE_FAILED` if one is missing. */
  all(): number[] {
    return this.scores.map((score) => {
      if (score === null) throw incomplete();
      return score;
    });
  }
}

function incomplete(): PlatformError {
  return new PlatformError('INFERENCE_FAILED', 'The response ended before it was complete.');
}

export interface RerankResult {
  requestId: string;
  modelId: string;
  scores: readonly number[];
  /** Texts to return with the results; null: none. */
  documents: readonly string[] | null;
  /** Maximum number of results; null: one per document. */
  top: number | null;
  promptTokens: number;
}

/** Returns the response, most relevant first; equal scores keep the order of the request. */
export function presentRerank(result: RerankResult): RerankResponse {
  const { requestId, modelId, scores, documents, top, promptTokens } = result;
  const ranked = scores.map((score, index) => ({
    index,
    relevance_score: score,
    ...(documents && { document: { text: documents[index] ?? '' } }),
  }));
  ranked.sort((left, right) => right.relevance_score - left.relevance_score);
  return {
    id: requestId,
    model: modelId,
    results: ranked.slice(0, top ?? ranked.length),
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
    meta: { tokens: { input_tokens: promptTokens, output_tokens: 0 } },
  };
}
