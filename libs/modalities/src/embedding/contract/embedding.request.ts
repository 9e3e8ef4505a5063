import { CheckedField, ChoiceField, IntegerField, TextField } from '#platform/http';

/** Maximum number of texts per request. */
export const maxTexts = 2_048;

export const encodingFormats = ['float', 'base64'] as const;
export type EncodingFormat = (typeof encodingFormats)[number];

/**
 * Token ids are refused: a client that counts with its own tokenizer sends ids that mean other words to this model, and
 * would get meaningless vectors.
 */
const noTokenIds = 'must hold texts: token ids are not taken, they mean other words to this model';

function inputProblem(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? 'must not be empty' : null;
  if (!Array.isArray(value)) return `must be a string or an array of 1 to ${maxTexts} strings`;
  if (value.length === 0) return 'must hold at least one text';
  if (value.length > maxTexts) return `must hold at most ${maxTexts} texts; this one has ${value.length}`;
  return itemProblem(value);
}

function itemProblem(items: readonly unknown[]): string | null {
  const wrong = items.findIndex((item) => typeof item !== 'string' || item === '');
  if (wrong < 0) return null;
  const item = items[wrong];
  const isTokens = typeof item === 'number' || Array.isArray(item);
  if (isTokens) return noTokenIds;
  return item === ''
    ? `must not hold an empty text, as at position ${wrong}`
    : 'must be a string or an array of strings';
}

/** Body of `POST /embeddings`. Undocumented fields pass through. */
export class EmbeddingRequest {
  @TextField({
    required: true,
    minLength: 1,
    maxLength: 1024,
    description: 'A model id, a trait (`default`) or an alias.',
    example: 'all-minilm-l6-v2',
  })
  model!: string;

  @CheckedField({
    name: 'isEmbeddingInput',
    required: true,
    description: `One text, or 1 to ${maxTexts} of them, each within the model’s \`maxInputTokens\`.`,
    example: ['A small boat on a river.', 'Ein kleines Boot auf einem Fluss.'],
    schema: {
      anyOf: [
        { type: 'string', minLength: 1, title: 'string' },
        { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: maxTexts, title: 'array' },
      ],
    },
    check: inputProblem,
  })
  input!: string | string[];

  @ChoiceField(encodingFormats, {
    default: 'float',
    description: 'Numbers, or the bytes of little-endian float32 numbers in base64, a quarter of the size.',
    example: 'float',
  })
  encoding_format?: EncodingFormat;

  @IntegerField({
    minimum: 1,
    description: 'Length of the vectors, for models with `supportsCustomDimensions`: truncated and normalized again.',
  })
  dimensions?: number;

  @TextField({ description: 'Accepted without effect.' })
  user?: string;
}
