import { PlatformError } from '#common';
import type { ModelManifest } from '#model-registry/manifest';
import type { EmbeddingJobPayload } from '../contract/embedding.job.js';
import type { EmbeddingRequest } from '../contract/embedding.request.js';

/** Members of `model_spec` that embedding models have (contract 9.1). */
export interface EmbeddingMembers {
  embeddingDimensions: number;
  maxInputTokens: number;
  supportsCustomDimensions: boolean;
}

/** Manifests of this type are checked to have them. */
export function embeddingMembers({ kindMembers }: ModelManifest): EmbeddingMembers {
  return kindMembers as unknown as EmbeddingMembers;
}

/** The wire form as the one canonical job. Throws `INVALID_REQUEST` for dimensions that the model does not give. */
export function normalizeEmbedding(wire: EmbeddingRequest, members: EmbeddingMembers): EmbeddingJobPayload {
  const texts = typeof wire.input === 'string' ? [wire.input] : wire.input;
  return { texts, dimensions: wantedDimensions(wire.dimensions ?? null, members) };
}

function wantedDimensions(
  wanted: number | null,
  { embeddingDimensions, supportsCustomDimensions }: EmbeddingMembers,
): number | null {
  if (wanted === null) return null;
  if (!supportsCustomDimensions) throw refusal('This model does not support specifying dimensions.');
  if (wanted > embeddingDimensions) {
    throw refusal(`dimensions must not be greater than the ${embeddingDimensions} of this model.`, 'too_big');
  }
  return wanted === embeddingDimensions ? null : wanted;
}

function refusal(message: string, code = 'unsupported'): PlatformError {
  return new PlatformError('INVALID_REQUEST', message, 'dimensions', {
    issues: [{ code, path: ['dimensions'], message }],
  });
}
