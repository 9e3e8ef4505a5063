import { expect } from 'vitest';
import type { RerankRun } from './rerank-run.js';
import type { TinyRerankerReference } from './tiny-reranker.js';

const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));

/** Compares the scores of texts, in a batch with padding and alone, with the logits of the reference. */
export async function expectScores(
  run: RerankRun,
  { query, texts, ids, logits }: TinyRerankerReference,
): Promise<void> {
  const together = await run.rerank({ query, documents: [...texts, ...texts] });
  expect(together.tokens).toBe(2 * ids.flat().length);
  for (const [index, score] of together.scores.entries()) {
    const wanted = logits[index % texts.length] ?? Number.NaN;
    expect(score, texts[index % texts.length]).toBeCloseTo(sigmoid(wanted), 4);
  }
  for (const [index, text] of texts.entries()) {
    const { scores } = await run.rerank({ query, documents: [text] });
    expect(Math.abs((scores[0] ?? Number.NaN) - (together.scores[index] ?? 0))).toBeLessThan(1e-5);
  }
}
