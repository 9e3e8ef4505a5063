/* Input and output of the rerank task, shared by worker and host. */

/** Name of the task. */
export const rerankTask = 'rerank';

export interface RerankInput {
  query: string;
  documents: string[];
  /** Tokens after which a document is cut; null: where the model's limit cuts it. */
  maxTokensPerDocument: number | null;
  /** The instruction that makes a document relevant; absent: the manifest's. Only for models with a prompt. */
  instruction?: string;
}

/** Scores of some of the documents, sent as soon as they are computed. After a failover some may arrive twice. */
export interface RerankPart {
  /** Positions of their documents. */
  indexes: number[];
  /** From 0 to 1. */
  scores: Float32Array;
}

/** Also returned for a cancelled task: what was computed until then. */
export interface RerankOutput {
  tokens: number;
}
