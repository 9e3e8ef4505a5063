import { CheckedField, TextField } from '#platform/http';

const maxInputs = 2_048;

/** A part of an input that consists of several. */
export interface ModerationPart {
  type: string;
  text?: string;
  image_url?: { url: string };
}

export type ModerationInput = string | string[] | ModerationPart[];

function inputProblem(value: unknown): string | null {
  if (typeof value === 'string') return null;
  const wording = `must be a text, or an array of 1 to ${maxInputs} texts or parts`;
  if (!Array.isArray(value) || value.length === 0 || value.length > maxInputs) return wording;
  if (value.every((item) => typeof item === 'string')) return null;
  return value.every(isPart) ? null : `${wording}; a part is of type text with a text, or image_url with a url`;
}

function isPart(value: unknown): value is ModerationPart {
  if (typeof value !== 'object' || value === null) return false;
  const { type, text, image_url: image } = value as Record<string, unknown>;
  if (type === 'text') return typeof text === 'string';
  if (type !== 'image_url' || typeof image !== 'object' || image === null) return false;
  return typeof (image as Record<string, unknown>)['url'] === 'string';
}

/** Body of `POST /moderations`. */
export class ModerationRequest {
  @CheckedField({
    name: 'isModerationInput',
    required: true,
    description:
      'A text, several texts with a result each, or the text and image parts of one input (at most 16 images).',
    example: ['Tell me a story about a small boat.'],
    schema: {
      anyOf: [
        { type: 'string', title: 'string' },
        { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: maxInputs, title: 'array' },
        {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              type: { type: 'string', enum: ['text', 'image_url'] },
              text: { type: 'string', description: 'With the type text.' },
              image_url: {
                type: 'object',
                description: 'With the type image_url: an http(s) or data URL.',
                properties: { url: { type: 'string' } },
                required: ['url'],
              },
            },
            required: ['type'],
          },
          minItems: 1,
          maxItems: maxInputs,
          title: 'parts',
        },
      ],
    },
    check: inputProblem,
  })
  input!: ModerationInput;

  @TextField({ description: 'Accepted without effect: the service’s own checks run.', maxLength: 1024 })
  model?: string;
}
