import type { NanoUsd, TokenUsage } from '#common';
import { type BillableUnit, type Pricing, quoteUnits } from '#model-registry/manifest';
import type { RerankJobPayload } from './rerank.job.js';

/*
 * Prices of reranking, as pure functions. The model reads the query once per document, so its tokens count once per
 * document, as do those that the model puts around each pair. There is no output.
 */

/** What the meter needs to know about a model. */
export interface PricedLimits {
  /** Longest pair of query and document in tokens; a longer document is cut. */
  maxInputTokens: number;
  pricing: Pricing | null;
  /** The text that the model reads around every pair; absent: some special tokens. */
  prompt?: RerankPrompt;
}

/** The prompt of a reranker that is a decoder. */
export interface RerankPrompt {
  /** Its places for query and document are counted as text. */
  template: string;
  /** The instruction that makes a document relevant, unless the request has one. */
  instruction: string;
}

/** Stands in a template for the instruction. */
export const instructionPlace = '{instruction}';

/** A token is at least one byte of the normalized text, and NFKC normalization expands a byte to at most 11. */
const maxTokensPerByte = 11;
/** Tokens a model may put around a pair. */
const maxTokensAround = 16;

type RankedInput = Pick<RerankJobPayload, 'query' | 'documents' | 'maxTokensPerDocument' | 'instruction'>;

/** Returns the maximum number of tokens that the model reads. */
export function maxRerankTokens(
  { query, documents, maxTokensPerDocument, instruction }: RankedInput,
  { maxInputTokens, prompt }: PricedLimits,
): number {
  const cut = maxTokensPerDocument ?? Infinity;
  const around = prompt === undefined ? 0 : tokensOf(filled(prompt, instruction));
  const ofQuery = tokensOf(query) + maxTokensAround + around;
  return documents.reduce(
    (sum, document) => sum + Math.min(maxInputTokens, ofQuery + Math.min(cut, tokensOf(document))),
    0,
  );
}

function filled({ template, instruction }: RerankPrompt, other: string | null | undefined): string {
  return template.replaceAll(instructionPlace, () => other ?? instruction);
}

function tokensOf(text: string): number {
  return Buffer.byteLength(text) * maxTokensPerByte;
}

/** The worst case of a request. Never less than what `rerankUnits` bill for it. */
export function quoteRerank(input: RankedInput, limits: PricedLimits): NanoUsd {
  return quoteUnits(rerankUnits({ promptTokens: maxRerankTokens(input, limits) }), limits.pricing);
}

/** What a job is charged for. */
export function rerankUnits({ promptTokens }: Pick<TokenUsage, 'promptTokens'>): BillableUnit[] {
  return [{ sku: 'rerank-input-mtoken', price: 'input', measure: 'million', count: promptTokens }];
}
