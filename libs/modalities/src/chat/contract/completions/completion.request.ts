import {
  BooleanField,
  CheckedField,
  IntegerField,
  NumberField,
  ObjectField,
  ScalarListField,
  TextField,
} from '#platform/http';
import { ChatStreamOptions, stopProblem, stopSchema } from '../chat.request.js';
import { LogitBiasField } from '../logit-bias.field.js';
import type { LogitBias } from '../logit-bias.js';

/** Maximum number of prompts of one request. */
export const maxPrompts = 20;
/** Maximum number of token ids of one prompt; the context of the model is lower. */
const maxTokenIds = 1_000_000;
const maxTokenId = 2 ** 31 - 1;

export type CompletionPrompt = string | string[] | number[] | number[][];

function isTokenId(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= maxTokenId;
}

function tokensProblem(ids: readonly unknown[]): string | null {
  if (ids.length === 0) return 'must not hold an empty list';
  if (ids.length > maxTokenIds) return `must hold at most ${maxTokenIds} token ids`;
  const wrong = ids.findIndex((id) => !isTokenId(id));
  return wrong < 0 ? null : `must hold token ids: whole numbers from 0, unlike the one at position ${wrong}`;
}

function promptProblem(value: unknown): string | null {
  if (typeof value === 'string') return null;
  const wording = `must be a text, up to ${maxPrompts} texts, token ids, or up to ${maxPrompts} lists of token ids`;
  if (!Array.isArray(value)) return wording;
  if (value.length === 0 || typeof value[0] === 'number') return tokensProblem(value);
  if (value.length > maxPrompts) return `${wording}; this one has ${value.length}`;
  if (value.every((item) => typeof item === 'string')) return null;
  if (!value.every((item) => Array.isArray(item))) return wording;
  return value.map((ids) => tokensProblem(ids)).find((problem) => problem !== null) ?? null;
}

/** Body of `POST /completions`. Undocumented fields pass through. */
export class CompletionRequest {
  @TextField({
    required: true,
    minLength: 1,
    maxLength: 1024,
    description: 'A model id, a trait (`default`) or an alias.',
    example: 'stories-15m',
  })
  model!: string;

  @CheckedField({
    name: 'isPrompt',
    required: true,
    description: `The text to continue, or up to ${maxPrompts}; each may be token ids of the model’s own tokenizer.`,
    example: 'Once upon a time',
    schema: {
      anyOf: [
        { type: 'string', title: 'text' },
        { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: maxPrompts, title: 'texts' },
        { type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 1, title: 'tokens' },
        {
          type: 'array',
          items: { type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 1 },
          minItems: 1,
          maxItems: maxPrompts,
          title: 'tokenLists',
        },
      ],
    },
    check: promptProblem,
  })
  prompt!: CompletionPrompt;

  @IntegerField({
    minimum: 0,
    default: 16,
    description: 'Maximum number of tokens of one choice; 0 generates none, as for the log-probabilities of a prompt.',
    example: 64,
  })
  max_tokens?: number;

  @BooleanField({ default: false, description: 'Respond with server-sent events.', example: false })
  stream?: boolean;

  @ObjectField(ChatStreamOptions, { description: 'Options of a streamed response.' })
  stream_options?: ChatStreamOptions;

  @BooleanField({
    default: false,
    description: 'Begin each choice with its prompt, and with `logprobs` those of its tokens.',
  })
  echo?: boolean;

  @IntegerField({ minimum: 1, default: 1, description: 'Choices for each prompt; at most what the model allows (4).' })
  n?: number;

  @IntegerField({ minimum: 1, description: 'Equal to `n` or absent: every choice that is generated is returned.' })
  best_of?: number;

  @IntegerField({ minimum: 0, maximum: 5, description: 'Log-probabilities, with this many alternatives per token.' })
  logprobs?: number;

  @CheckedField({
    name: 'isStop',
    description: 'Up to 4 strings that end a choice and are not part of it.',
    example: ['\n\n'],
    schema: stopSchema,
    check: stopProblem,
  })
  stop?: string | string[] | null;

  @ScalarListField('integer', { description: 'Tokens that end a choice.' })
  stop_token_ids?: number[];

  @TextField({ description: 'Refused: no model here fills in text before a suffix.' })
  suffix?: string;

  @NumberField({ minimum: 0, maximum: 2, description: '0 always takes the most likely token.', example: 0.7 })
  temperature?: number;

  @NumberField({ minimum: 0, maximum: 1, description: 'Keep the most likely tokens up to this probability.' })
  top_p?: number;

  @IntegerField({ minimum: -1, description: 'Keep this many of the most likely tokens; 0 and -1 keep all.' })
  top_k?: number;

  @NumberField({ minimum: 0, maximum: 1, description: 'Keep tokens this likely, relative to the most likely one.' })
  min_p?: number;

  @NumberField({ minimum: -2, maximum: 2, default: 0, description: 'Penalizes tokens by how often they occurred.' })
  frequency_penalty?: number;

  @NumberField({ minimum: -2, maximum: 2, default: 0, description: 'Penalizes tokens that occurred at all.' })
  presence_penalty?: number;

  @NumberField({ minimum: 0, description: 'Penalizes repetition in prompt and output; 1 is neutral.', example: 1.1 })
  repetition_penalty?: number;

  @IntegerField({ minimum: 0, description: 'The same seed produces the same text; 0 is no seed.', example: 42 })
  seed?: number;

  @LogitBiasField()
  logit_bias?: LogitBias;

  @TextField({
    maxLength: 1024,
    description: 'Requests with the same key are routed to the same worker, for cached prefixes.',
  })
  prompt_cache_key?: string;

  @TextField({ description: 'Accepted without effect.' })
  user?: string;
}
