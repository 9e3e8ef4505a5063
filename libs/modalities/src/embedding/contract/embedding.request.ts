import { CheckedField, ChoiceField, IntegerField, TextField } from '#platform/http';

/** Maximum number of texts per request. */
export const maxTexts = 2_048;

export const encodingFormats = ['float', 'base64'] as const;
export type EncodingFormat = (typeof encodingFormats)[number];

/** Kinds of texts that some models mark with a prefix. */
export const embeddingInputTypes = ['query', 'document'] as const;
export type EmbeddingInputType = (typeof embeddingInputTypes)[number];

const maxTokenId = 2 ** 31 - 1;

export type EmbeddingInputField = string | string[] | number[] | number[][];

function inputProblem(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? 'must not be empty' : null;
  if (!Array.isArray(value)) return `must be a string or an array of 1 to ${maxTexts} strings`;
  if (value.length === 0) return 'must hold at least one text';
  if (typeof value[0] === 'number') return idsProblem(value);
  if (value.length > maxTexts) return `must hold at most ${maxTexts} texts; this one has ${value.length}`;
  if (Array.isArray(value[0])) return value.map(idsProblem).find((problem) => problem !== null) ?? null;
  return itemProblem(value);
}

/** The model's host finds out whether its tokenizer made them. */
function idsProblem(ids: unknown): string | null {
  if (!Array.isArray(ids) || ids.length === 0) return 'must hold texts, or lists of token ids that are not empty';
  const wrong = ids.findIndex((id) => !Number.isInteger(id) || Number(id) < 0 || Number(id) > maxTokenId);
  return wrong < 0 ? null : `must hold token ids: whole numbers from 0, unlike the one at position ${wrong}`;
}

function itemProblem(items: readonly unknown[]): string | null {
  const wrong = items.findIndex((item) => typeof item !== 'string' || item === '');
  if (wrong < 0) return null;
  return items[wrong] === ''
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
    description:
      `One text, or 1 to ${maxTexts} of them, each within the model’s \`maxInputTokens\`. A text may be token ids of the ` +
      'model’s own tokenizer, special tokens included; other ids are refused.',
    example: ['A small boat on a river.', 'Ein kleines Boot auf einem Fluss.'],
    schema: {
      anyOf: [
        { type: 'string', minLength: 1, title: 'string' },
        { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: maxTexts, title: 'array' },
        { type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 1, title: 'tokens' },
        {
          type: 'array',
          items: { type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 1 },
          minItems: 1,
          maxItems: maxTexts,
          title: 'tokenLists',
        },
      ],
    },
    check: inputProblem,
  })
  input!: EmbeddingInputField;

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

  @ChoiceField(embeddingInputTypes, {
    description:
      'What the texts are: a model that was trained with prefixes gets the one of its kind in front of each. Without ' +
      'effect on other models and on token ids.',
    example: 'query',
  })
  input_type?: EmbeddingInputType;

  @TextField({ description: 'Accepted without effect.' })
  user?: string;
}
