import { PlatformError } from '#common';
import { invalidField } from '#gateway';
import type { EmbeddingMembers, ModelManifest } from '#model-registry/manifest';
import type { EmbeddingJobPayload } from '../contract/embedding.job.js';
import type { EmbeddingRequest } from '../contract/embedding.request.js';

/** Manifests of this type are validated to have them. */
export function embeddingMembers({ kindMembers }: ModelManifest): EmbeddingMembers {
  return kindMembers as unknown as EmbeddingMembers;
}

/**
 * Converts the request to the job payload. Throws `INVALID_REQUEST` for dimensions that the model does not support, and
 * `TOO_MANY_TOKENS` for a text that is too long for any tokenizer, before megabytes travel to a worker.
 */
export function normalizeEmbedding(wire: EmbeddingRequest, members: EmbeddingMembers): EmbeddingJobPayload {
  const texts = typeof wire.input === 'string' ? [wire.input] : wire.input;
  const dimensions = wantedDimensions(wire.dimensions ?? null, members);
  refuseLongTexts(texts, members.maxInputTokens);
  return { texts, dimensions };
}

/** A word of letters or digits, which is at least one token. */
const word = /[A-Za-z0-9]\S*/g;

function refuseLongTexts(texts: readonly string[], maxInputTokens: number): void {
  const place = texts.findIndex((text) => hasMoreWords(text, maxInputTokens));
  if (place < 0) return;
  const [which, param] =
    texts.length === 1 ? ['The input', 'input'] : [`The text at position ${place}`, `input[${place}]`];
  const message = `${which} has more than ${maxInputTokens} tokens; this model takes ${maxInputTokens}.`;
  throw new PlatformError('TOO_MANY_TOKENS', message, param);
}

/** Stops counting at the limit. */
function hasMoreWords(text: string, max: number): boolean {
  // A word and the space after it are at least two characters.
  if (text.length <= 2 * max) return false;
  let count = 0;
  for (const _word of text.matchAll(word)) if (++count > max) return true;
  return false;
}

function wantedDimensions(
  wanted: number | null,
  { embeddingDimensions, supportsCustomDimensions }: EmbeddingMembers,
): number | null {
  if (wanted === null) return null;
  if (!supportsCustomDimensions)
    throw invalidField('This model does not support specifying dimensions.', 'dimensions', 'unsupported');
  if (wanted > embeddingDimensions) {
    const message = `dimensions must not be greater than the ${embeddingDimensions} of this model.`;
    throw invalidField(message, 'dimensions', 'too_big');
  }
  return wanted === embeddingDimensions ? null : wanted;
}
