import type { EmbeddingMembers, ModelManifest } from '#model-registry/manifest';
import type { RerankJobPayload } from '../contract/rerank.job.js';
import { type RerankRequest, textOf } from '../contract/rerank.request.js';

/** Manifests of this type are validated to have them. */
export function rerankMembers({ kindMembers }: ModelManifest): Pick<EmbeddingMembers, 'maxInputTokens'> {
  return kindMembers as unknown as EmbeddingMembers;
}

/** Converts the request to the job payload. */
export function normalizeRerank(body: RerankRequest): RerankJobPayload {
  return {
    query: body.query,
    documents: body.documents.map((document) => textOf(document) ?? ''),
    maxTokensPerDocument: body.max_tokens_per_doc ?? null,
  };
}
