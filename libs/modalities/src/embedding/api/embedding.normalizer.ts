import { PlatformError } from '#common';
import { invalidField } from '#gateway';
import type { EmbeddingMembers, ModelManifest } from '#model-registry/manifest';
import type { EmbeddingJobPayload } from '../contract/embedding.job.js';
import type { EmbeddingInputType, EmbeddingRequest } from '../contract/embedding.request.js';

/** Manifests of this type are validated to have them. */
export function embeddingMembers({ kindMembers }: ModelManifest): EmbeddingMembers {
  return kindMembers as unknown as EmbeddingMembers;
}

/**
 * Converts the request to the job payload. Throws `INVALID_REQUEST` for dimensions that the model does not support, and
 * `TOO_MANY_TOKENS` for a text that is too long for any tokenizer, before megabytes travel to a worker.
 */
export function normalizeEmbedding(
  body: EmbeddingRequest,
  members: EmbeddingMembers,
  familyOptions: ModelManifest['familyOptions'] = {},
): EmbeddingJobPayload {
  const dimensions = wantedDimensions(body.dimensions ?? null, members);
  const inputTexts = textsOf(body.input);
  const prefix = prefixOf(body.input_type ?? null, familyOptions);
  const texts = prefix === '' || inputTexts === null ? inputTexts : inputTexts.map((text) => prefix + text);
  if (texts === null) {
    const tokenIds = tokenListsOf(body.input as number[] | number[][]);
    refuseLong(tokenIds, members.maxInputTokens, (ids) => ids.length > members.maxInputTokens);
    return { texts: [], tokenIds, dimensions };
  }
  refuseLong(texts, members.maxInputTokens, (text) => hasMoreWords(text, members.maxInputTokens));
  return { texts, dimensions };
}

/** Returns what the model's authors put in front of texts of a kind; nothing for other models. */
function prefixOf(type: EmbeddingInputType | null, familyOptions: NonNullable<ModelManifest['familyOptions']>): string {
  if (type === null) return '';
  const { queryPrefix = '', documentPrefix = '' } = familyOptions;
  return String(type === 'query' ? queryPrefix : documentPrefix);
}

/** Null for token ids. */
function textsOf(input: EmbeddingRequest['input']): string[] | null {
  if (typeof input === 'string') return [input];
  return typeof input[0] === 'string' ? (input as string[]) : null;
}

function tokenListsOf(input: number[] | number[][]): number[][] {
  return typeof input[0] === 'number' ? [input as number[]] : (input as number[][]);
}

/** A word of letters or digits, which is at least one token. */
const word = /[A-Za-z0-9]\S*/g;

function refuseLong<Item>(items: readonly Item[], maxInputTokens: number, isLong: (item: Item) => boolean): void {
  const place = items.findIndex(isLong);
  if (place < 0) return;
  const [which, param] =
    items.length === 1 ? ['the input', 'input'] : [`the text at position ${place}`, `input[${place}]`];
  const limit = `This model's maximum context length is ${maxInputTokens} tokens.`;
  const message = `${limit} However, ${which} has more than ${maxInputTokens} tokens.`;
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
  { embeddingDimensions, supportsCustomDimensions, matryoshkaDimensions: listed }: EmbeddingMembers,
): number | null {
  if (wanted === null) return null;
  if (!supportsCustomDimensions)
    throw invalidField('This model does not support specifying dimensions.', 'dimensions', 'unsupported');
  if (wanted > embeddingDimensions) {
    const message = `dimensions must not be greater than the ${embeddingDimensions} of this model.`;
    throw invalidField(message, 'dimensions', 'too_big');
  }
  if (wanted === embeddingDimensions) return null;
  if (listed !== undefined && !listed.includes(wanted)) {
    const message = `dimensions must be one of ${[...listed, embeddingDimensions].join(', ')} for this model.`;
    throw invalidField(message, 'dimensions', 'unsupported');
  }
  return wanted;
}
