/* Input and output of the embedding task, shared by worker and host. */

/** Name of the task. */
export const embeddingTask = 'embed';

export interface EmbeddingInput {
  texts: string[];
  /** Texts as ids of the model's own tokenizer, special tokens included; `texts` is then empty. */
  tokenIds?: number[][];
  /** Length of the vectors; null for the model's own. Shorter vectors are truncated and normalized again. */
  dimensions: number | null;
}

/** Vectors of some of the texts, sent as soon as they are computed. After a failover the new host may repeat some. */
export interface EmbeddingPart {
  /** Positions of their texts. */
  indexes: number[];
  dimensions: number;
  /** `indexes.length * dimensions` numbers. */
  vectors: Float32Array;
}

/** Also returned for a cancelled task: what was computed until then. */
export interface EmbeddingOutput {
  tokens: number;
}
