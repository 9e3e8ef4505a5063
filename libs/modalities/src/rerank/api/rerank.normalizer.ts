import { invalidField } from '#gateway';
import type { EmbeddingMembers, ModelManifest } from '#model-registry/manifest';
import type { RerankJobPayload } from '../contract/rerank.job.js';
import { instructionPlace, type RerankPrompt } from '../contract/rerank.meter.js';
import { type RerankRequest, textOf } from '../contract/rerank.request.js';

/** Manifests of this type are validated to have them. */
export function rerankMembers({ kindMembers }: ModelManifest): Pick<EmbeddingMembers, 'maxInputTokens'> {
  return kindMembers as unknown as EmbeddingMembers;
}

/** The prompt of a reranker that is a decoder; undefined for a cross-encoder. */
export function promptOf({ familyOptions = {} }: Pick<ModelManifest, 'familyOptions'>): RerankPrompt | undefined {
  const { template, instruction = '' } = familyOptions;
  return template === undefined ? undefined : { template: String(template), instruction: String(instruction) };
}

/** Converts the request to the job payload. Throws `INVALID_REQUEST` for an instruction that the model does not read. */
export function normalizeRerank(body: RerankRequest, prompt?: RerankPrompt): RerankJobPayload {
  const { instruction = null } = body;
  if (instruction !== null && prompt?.template.includes(instructionPlace) !== true) {
    throw invalidField('This model reads no instruction.', 'instruction', 'unsupported');
  }
  return {
    query: body.query,
    documents: body.documents.map((document) => textOf(document) ?? ''),
    maxTokensPerDocument: body.max_tokens_per_doc ?? null,
    ...(instruction !== null && { instruction }),
  };
}
