import { PlatformError } from '#common';
import { RowEngine, type RowEngineOptions } from '../embedding/index.js';
import { type PairReader, type PairRow, RerankRequest } from './rerank-request.js';
import { type RerankInput, type RerankPart, rerankTask } from './rerank-task.js';

/** `encode` returns the logit of each pair. */
export interface RerankEngineOptions
  extends Omit<RowEngineOptions<PairRow, RerankRequest>, 'task' | 'open' | 'present'>, PairReader {}

/** Scores the documents of all queued requests together, each beside the query of its request. */
export class RerankEngine extends RowEngine<PairRow, RerankRequest> {
  constructor({ tokenizer, maxTokens, ...options }: RerankEngineOptions) {
    super({
      ...options,
      task: rerankTask,
      open: (id, input) => new RerankRequest(id, input as RerankInput, { tokenizer, maxTokens }),
      present: (_request, computed): RerankPart => {
        const scores = Float32Array.from(computed, ({ values }) => sigmoid(values[0] ?? Number.NaN));
        if (!scores.every(Number.isFinite)) {
          throw new PlatformError('INFERENCE_FAILED', 'The model returned non-finite numbers for a document.');
        }
        return { indexes: computed.map(({ row }) => row.index), scores };
      },
    });
  }
}

function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}
