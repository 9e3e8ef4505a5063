import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels } from '@nestjs/swagger';
import { isObject } from '#common/values';
import {
  BooleanField,
  CheckedField,
  ChoiceField,
  IntegerField,
  NumberField,
  ObjectField,
  ObjectListField,
  TextField,
} from '#platform/http';
import { nest } from '#platform/validation';
import { ChatFallback, reasoningEfforts } from '../chat.request.js';
import { type ResponsesItem, responsesItemClasses, responsesItemOf } from './responses.items.js';
import {
  type ResponsesTool,
  responsesToolChoiceProblem,
  responsesToolChoiceSchema,
  responsesToolClasses,
  responsesToolOf,
} from './responses.tools.js';

/* Body of `POST /responses`. Its fields are checked once more as those of the chat request they are translated to. */

const maxInputItems = 10_000;

export class ResponsesReasoning {
  @ChoiceField(reasoningEfforts, { description: 'How much to reason; one of the model’s `reasoningEffortOptions`.' })
  effort?: string | null;

  @ChoiceField(['auto', 'concise', 'detailed'], {
    description: 'Send the reasoning as the summary of its item, whole, instead of as its content.',
  })
  summary?: string | null;
}

export const responsesFormatTypes = ['text', 'json_object', 'json_schema'] as const;

export interface ResponsesFormat {
  type: (typeof responsesFormatTypes)[number];
  name?: string;
  /** Of a `json_schema`, and optionally of a `json_object`. */
  schema?: object;
  strict?: boolean | null;
  description?: string;
}

function formatProblem(value: unknown): string | null {
  const type = isObject(value) ? value.type : undefined;
  if (!responsesFormatTypes.some((known) => known === type)) {
    return `must have a type of ${responsesFormatTypes.join(', ')}`;
  }
  const { name, schema } = value as Record<string, unknown>;
  if (type === 'json_object') return schema === undefined || isObject(schema) ? null : 'must have an object schema';
  if (type !== 'json_schema') return null;
  if (typeof name !== 'string' || name === '') return 'must have a name';
  return isObject(schema) ? null : 'must have an object schema';
}

export class ResponsesTextOptions {
  @CheckedField({
    name: 'isTextFormat',
    description: 'Format of the text, enforced token by token.',
    schema: {
      type: 'object',
      properties: {
        type: { type: 'string', enum: [...responsesFormatTypes] },
        name: { type: 'string' },
        schema: { type: 'object', additionalProperties: { nullable: true } },
        strict: { type: 'boolean' },
        description: { type: 'string' },
      },
      required: ['type'],
    },
    check: formatProblem,
  })
  format?: ResponsesFormat | null;

  @ChoiceField(['low', 'medium', 'high'], { description: 'Accepted without effect.' }) verbosity?: string | null;
}

export class ResponsesStreamOptions {
  @BooleanField({ description: 'Accepted without effect: events are not padded.' }) include_obfuscation?: boolean;
}

/** The members of `service_parameters` that this route has; others are dropped. */
export class ResponsesServiceParameters {
  @TextField({ description: 'A character of `GET /characters`, whose persona the model takes on.' })
  character_slug?: string;

  @BooleanField({ description: 'False: trusted hardware only, even with end-to-end encryption headers.' })
  enable_e2ee?: boolean;

  @ChoiceField(['auto', 'off', 'on'], { description: 'Web search by the service.' }) enable_web_search?: string;
  @BooleanField({ description: 'Fetch up to 5 URLs of the latest user message.' }) enable_web_scraping?: boolean;
  @BooleanField({ description: 'Cite sources as `[REF]0[/REF]`.' }) enable_web_citations?: boolean;
  @BooleanField({ description: 'Prepend the model’s default system prompt.' }) include_service_system_prompt?: boolean;

  @BooleanField({ description: 'Search results in the first chunk of a stream.' })
  include_search_results_in_stream?: boolean;
}

/** Values of `include`; those without a meaning here name tools that this service does not run. */
export const includableValues = [
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
  'message.input_image.image_url',
  'web_search_call.results',
  'web_search_call.action.sources',
  'file_search_call.results',
  'code_interpreter_call.outputs',
  'computer_call_output.output.image_url',
];

function includeProblem(value: unknown): string | null {
  if (!Array.isArray(value)) return 'must be an array';
  return value.every((item) => includableValues.includes(item as string))
    ? null
    : `must hold only: ${includableValues.join(', ')}`;
}

function inputProblem(value: unknown): string | null {
  if (typeof value === 'string') return null;
  if (!Array.isArray(value)) return 'must be a string or an array of items';
  return value.length > maxInputItems ? `must contain no more than ${maxInputItems} elements` : null;
}

function InputField(): PropertyDecorator {
  const items = { anyOf: responsesItemClasses.map((model) => ({ $ref: `#/components/schemas/${model.name}` })) };
  return applyDecorators(
    CheckedField({
      name: 'isInput',
      required: true,
      description: 'The conversation: a text of the user, or items, oldest first.',
      example: 'Tell me a story about a small boat.',
      schema: { anyOf: [{ type: 'string' }, { type: 'array', items }] },
      check: inputProblem,
    }),
    nest(responsesItemOf),
    (target: object) => ApiExtraModels(...responsesItemClasses)(target.constructor),
  );
}

/** A field whose feature this service lacks: null and absent are the same as with it. */
function RefusedField(why: string, schema: Record<string, unknown> = { type: 'object' }): PropertyDecorator {
  return CheckedField({
    name: 'isRefused',
    description: `Refused: ${why}.`,
    schema,
    check: () => `is refused: ${why}`,
  });
}

/** Body of `POST /responses`. Undocumented fields pass through. */
export class ResponsesRequest {
  @TextField({
    required: true,
    minLength: 1,
    maxLength: 1024,
    description: 'A model id, a trait (`default`), an alias, or one of them with a suffix `:name=value&…`.',
    example: 'stories-15m',
  })
  model!: string;

  // Before the input, which templates replace: the first problem is the one that is named.
  @RefusedField('prompt templates are not kept here; send the instructions') prompt?: unknown;
  @InputField() input!: string | ResponsesItem[];

  @TextField({ nullable: true, description: 'A system message before the input.', example: 'You are brief.' })
  instructions?: string | null;

  @BooleanField({ description: 'Respond with server-sent events.', example: false }) stream?: boolean | null;

  @ObjectField(ResponsesStreamOptions, { description: 'Options of a streamed response.' })
  stream_options?: ResponsesStreamOptions | null;

  @IntegerField({
    minimum: 0,
    exclusiveMinimum: true,
    description: 'Maximum number of generated tokens, reasoning included.',
    example: 256,
  })
  max_output_tokens?: number | null;

  @NumberField({ minimum: 0, maximum: 2, description: '0 always takes the most likely token.', example: 0.7 })
  temperature?: number | null;

  @NumberField({
    minimum: 0,
    maximum: 1,
    description: 'Keep the most likely tokens up to this cumulative probability.',
    example: 0.9,
  })
  top_p?: number | null;

  @IntegerField({
    minimum: 0,
    maximum: 20,
    description: 'Number of alternatives per token; needs `message.output_text.logprobs` in `include`.',
  })
  top_logprobs?: number | null;

  @ObjectField(ResponsesReasoning, { nullable: true, description: 'Options of reasoning.' })
  reasoning?: ResponsesReasoning | null;

  @ObjectField(ResponsesTextOptions, { description: 'Options of the text.' }) text?: ResponsesTextOptions | null;

  @ObjectListField(responsesToolOf, responsesToolClasses, {
    maxItems: 256,
    description:
      'Tools that the client runs: functions, custom tools and namespaces of both. Others are skipped, with a warning.',
  })
  tools?: ResponsesTool[] | null;

  @CheckedField({
    name: 'isToolChoice',
    description: '`auto`, `none`, `required`, one tool, or a set of allowed tools.',
    schema: responsesToolChoiceSchema,
    check: responsesToolChoiceProblem,
  })
  tool_choice?: unknown;

  @BooleanField({ default: true, description: 'Several tool calls in one response.' })
  parallel_tool_calls?: boolean | null;

  @IntegerField({ minimum: 1, description: 'Accepted without effect: no tool runs here.' })
  max_tool_calls?: number | null;

  @BooleanField({ description: 'True is the same as `enable_web_search: "on"`.' }) web_search?: boolean | null;

  @CheckedField({
    name: 'isInclude',
    description: 'Additional output: `reasoning.encrypted_content` and `message.output_text.logprobs` have an effect.',
    schema: { type: 'array', items: { type: 'string' } },
    check: includeProblem,
  })
  include?: string[] | null;

  @BooleanField({
    default: false,
    description: 'Store the response for a limited time; without effect where the operator does not allow it.',
  })
  store?: boolean | null;

  @TextField({
    nullable: true,
    minLength: 1,
    maxLength: 128,
    description: 'A stored response that this one continues; refused where no response is stored.',
  })
  previous_response_id?: string | null;

  @CheckedField({
    name: 'isMetadata',
    description: 'Up to 16 key-value pairs, echoed.',
    schema: { type: 'object', additionalProperties: { type: 'string' } },
    // The rules of chat completions apply.
    check: (value) => (isObject(value) ? null : 'must be an object of strings'),
  })
  metadata?: Record<string, string> | null;

  @TextField({
    maxLength: 1024,
    description: 'Requests with the same key are routed to the same worker, for cached prefixes.',
  })
  prompt_cache_key?: string | null;

  @TextField({ description: '`extended` and `24h`: keep the cached prompt before others for a day.' })
  prompt_cache_retention?: string | null;

  @TextField({ description: 'Accepted without effect.' }) user?: string | null;
  @TextField({ description: 'Accepted without effect.' }) safety_identifier?: string | null;

  @ChoiceField(['auto', 'default', 'flex', 'scale', 'priority'], { description: 'Accepted without effect.' })
  service_tier?: string | null;

  @ChoiceField(['auto', 'disabled'], {
    default: 'disabled',
    description: '`auto`: input beyond the context loses its oldest items; otherwise it is refused.',
  })
  truncation?: string | null;

  @ObjectListField(() => ChatFallback, [ChatFallback], { maxItems: 10, description: 'Accepted without effect.' })
  fallbacks?: ChatFallback[] | null;

  @CheckedField({
    name: 'isBackground',
    description: 'Only false.',
    schema: { type: 'boolean', enum: [false] },
    check: (value) => (value === false ? null : 'must be false: responses do not run in the background here'),
  })
  background?: boolean | null;

  @RefusedField('conversations are not kept here; send the items as input', {
    anyOf: [{ type: 'string' }, { type: 'object' }],
  })
  conversation?: unknown;

  @RefusedField('the context is not compacted here', { type: 'array', items: { type: 'object' } })
  context_management?: unknown;

  @ObjectField(ResponsesServiceParameters, { description: 'Extensions of this service to the OpenAI request.' })
  service_parameters?: ResponsesServiceParameters | null;
}
