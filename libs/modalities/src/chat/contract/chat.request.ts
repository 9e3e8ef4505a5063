import {
  BooleanField,
  CheckedField,
  ChoiceField,
  FreeObjectField,
  IntegerField,
  NumberField,
  ObjectField,
  ObjectListField,
  ScalarListField,
  TextField,
} from '#platform/http';
import { type ChatMessage, chatMessageClasses, chatMessageOf } from './chat.message.js';
import {
  type ChatTool,
  chatToolClasses,
  chatToolOf,
  chatToolChoiceProblem,
  chatToolChoiceSchema,
  responseFormatProblem,
  responseFormatSchema,
} from './chat.tools.js';

import { LogitBiasField } from './logit-bias.field.js';
import type { LogitBias } from './logit-bias.js';

export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
const verbosities = ['low', 'medium', 'high', 'auto'] as const;

export class ChatStreamOptions {
  @BooleanField({ description: 'Send a final chunk with the usage of the whole request.', example: true })
  include_usage?: boolean;
}

export class ChatReasoning {
  @ChoiceField(reasoningEfforts, { description: 'How much to reason; one of the model’s `reasoningEffortOptions`.' })
  effort?: string;

  @ChoiceField(['auto', 'concise', 'detailed'], {
    description: '`auto` and `detailed` return the reasoning in full, as does omitting it. `concise` is refused.',
  })
  summary?: string;

  @BooleanField({ description: 'False switches reasoning off, whatever the effort.' })
  enabled?: boolean;
}

export class ChatTextOptions {
  @ChoiceField(verbosities, { description: 'Accepted without effect.' })
  verbosity?: string;
}

export class ChatFallback {
  @TextField({ required: true, description: 'A model to try instead.' })
  model!: string;
}

/** `service_parameters` of the request. */
export class ChatServiceParameters {
  @TextField({ description: 'A character of `GET /characters`, whose persona the model takes on.' })
  character_slug?: string;

  @BooleanField({ default: false, description: 'Leave reasoning out of the response.', example: false })
  strip_thinking_response?: boolean;

  @BooleanField({ default: false, description: 'Switch reasoning off, and leave out what there is.', example: false })
  disable_thinking?: boolean;

  @BooleanField({
    default: true,
    description: 'False takes a request with encryption headers as one in clear. See docs/guides/e2ee.md.',
  })
  enable_e2ee?: boolean;

  @ChoiceField(['auto', 'off', 'on'], {
    default: 'off',
    description:
      'Searches the web for the latest user message; with `auto` the model decides. See docs/guides/web-search-in-chat.md.',
    example: 'on',
  })
  enable_web_search?: string;

  @BooleanField({
    default: false,
    description: 'Reads up to 5 addresses of the latest user message instead of a search.',
  })
  enable_web_scraping?: boolean;

  @BooleanField({ default: false, description: 'The response cites web sources as `[REF]0[/REF]`.' })
  enable_web_citations?: boolean;

  @BooleanField({ default: false, description: 'The first chunk of a stream has the texts of the sources, too.' })
  include_search_results_in_stream?: boolean;

  @BooleanField({ description: 'Returns the sources as a tool call `service_web_search_documents`, too.' })
  return_search_results_as_documents?: boolean;

  @BooleanField({
    default: true,
    description: 'Prepend the default system prompts of the service and the model.',
    example: true,
  })
  include_service_system_prompt?: boolean;

  @BooleanField({ default: false, description: 'Search posts of X instead of the web, for models that support it.' })
  enable_x_search?: boolean;
}

/** Schema of a `stop` field. */
export const stopSchema = {
  anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' }, maxItems: 4 }, { nullable: true }],
};

export function stopProblem(value: unknown): string | null {
  const wording = 'must be a string, or an array of at most 4 strings';
  if (typeof value === 'string') return null;
  if (!Array.isArray(value)) return wording;
  if (value.length > 4) return `${wording}; this one has ${value.length}`;
  return value.every((item) => typeof item === 'string') ? null : wording;
}

function metadataProblem(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object of strings';
  const entries = Object.entries(value);
  if (entries.length > 16) return 'must have at most 16 members';
  for (const [key, item] of entries) {
    if (key.length > 64) return 'must have keys of at most 64 characters';
    if (typeof item !== 'string' || item.length > 512) return 'must have strings of at most 512 characters as values';
  }
  return null;
}

/** Body of `POST /chat/completions`. Undocumented fields pass through. */
export class ChatCompletionRequest {
  @TextField({
    required: true,
    minLength: 1,
    maxLength: 1024,
    description: 'A model id, a trait (`default`), an alias, or one of them with a suffix `:name=value&…`.',
    example: 'stories-15m',
  })
  model!: string;

  @ObjectListField(chatMessageOf, chatMessageClasses, {
    required: true,
    minItems: 1,
    maxItems: 10_000,
    description: 'The conversation, oldest first.',
    example: [{ role: 'user', content: 'Tell me a story about a small boat.' }],
  })
  messages!: ChatMessage[];

  @BooleanField({ description: 'Respond with server-sent events.', example: false })
  stream?: boolean;

  @ObjectField(ChatStreamOptions, { description: 'Options of a streamed response.' })
  stream_options?: ChatStreamOptions;

  @IntegerField({
    minimum: 1,
    description: 'Maximum number of tokens of one choice, reasoning included.',
    example: 256,
  })
  max_completion_tokens?: number;

  @IntegerField({ deprecated: true, description: 'Older name of `max_completion_tokens`; zero or less is ignored.' })
  max_tokens?: number;

  @NumberField({ minimum: 0, maximum: 2, description: '0 always takes the most likely token.', example: 0.7 })
  temperature?: number;

  @NumberField({
    minimum: 0,
    maximum: 1,
    description: 'Keep the most likely tokens up to this cumulative probability.',
    example: 0.9,
  })
  top_p?: number;

  @IntegerField({
    minimum: -1,
    description: 'Keep this many of the most likely tokens; 0 and -1 keep all.',
    example: 40,
  })
  top_k?: number;

  @NumberField({
    minimum: 0,
    maximum: 1,
    description: 'Keep tokens at least this likely, relative to the most likely one.',
  })
  min_p?: number;

  @NumberField({ minimum: 0, maximum: 2, description: 'Lower end of dynamic temperature.' })
  min_temp?: number;

  @NumberField({ minimum: 0, maximum: 2, description: 'Upper end of dynamic temperature.' })
  max_temp?: number;

  @NumberField({ minimum: -2, maximum: 2, default: 0, description: 'Penalizes tokens by how often they occurred.' })
  frequency_penalty?: number;

  @NumberField({ minimum: -2, maximum: 2, default: 0, description: 'Penalizes tokens that occurred at all.' })
  presence_penalty?: number;

  @LogitBiasField()
  logit_bias?: LogitBias;

  @NumberField({ minimum: 0, description: 'Penalizes repetition in prompt and output; 1 is neutral.', example: 1.1 })
  repetition_penalty?: number;

  @IntegerField({ minimum: 1, default: 1, description: 'Choices to generate; at most what the model allows (4).' })
  n?: number;

  @IntegerField({
    minimum: 0,
    description: 'The same seed produces the same text; 0 is no seed.',
    example: 42,
  })
  seed?: number;

  @CheckedField({
    name: 'isStop',
    description: 'Up to 4 strings that end the response and are not part of it.',
    example: ['\n\n'],
    schema: stopSchema,
    check: stopProblem,
  })
  stop?: string | string[] | null;

  @ScalarListField('integer', { description: 'Tokens that end the response.' })
  stop_token_ids?: number[];

  @BooleanField({ description: 'Log-probability of each token, for models with `supportsLogProbs`.' })
  logprobs?: boolean;

  @IntegerField({ minimum: 0, maximum: 20, description: 'Number of alternatives per token; needs `logprobs`.' })
  top_logprobs?: number;

  @ObjectListField(chatToolOf, chatToolClasses, {
    nullable: true,
    maxItems: 128,
    description: 'Tools the model may call, with at most 1,000,000 characters in all; see docs/guides/tools.md.',
  })
  tools?: ChatTool[] | null;

  @CheckedField({
    name: 'isToolChoice',
    description: '`auto`, `none`, `required`, one function or custom tool, or `allowed_tools`.',
    schema: chatToolChoiceSchema,
    check: chatToolChoiceProblem,
  })
  tool_choice?: unknown;

  @BooleanField({ default: true, description: 'Several tool calls in one response; off with a `response_format`.' })
  parallel_tool_calls?: boolean;

  @CheckedField({
    name: 'isResponseFormat',
    description:
      'Format of the response, enforced token by token; see docs/guides/structured-output.md for the keywords.',
    example: { type: 'text' },
    schema: responseFormatSchema,
    check: responseFormatProblem,
  })
  response_format?: {
    type: 'text' | 'json_object' | 'json_schema' | 'regex' | 'grammar';
    json_schema?: { schema?: object | null; strict?: boolean | null };
    /** Of a `json_object`. */
    schema?: object | null;
    pattern?: string;
    grammar?: string;
  };

  @FreeObjectField({ description: 'A JSON schema: another name for a `json_schema` format.' })
  response_schema?: object;

  @ChoiceField(reasoningEfforts, { description: 'How much to reason; takes precedence over `reasoning.effort`.' })
  reasoning_effort?: string;

  @ObjectField(ChatReasoning, { description: 'Options of reasoning.' })
  reasoning?: ChatReasoning;

  @ChoiceField(verbosities, { description: 'Accepted without effect.' })
  verbosity?: string;

  @ObjectField(ChatTextOptions, { description: 'Options of the text.' })
  text?: ChatTextOptions;

  @TextField({
    maxLength: 1024,
    description: 'Requests with the same key are routed to the same worker, for cached prefixes.',
  })
  prompt_cache_key?: string;

  @ChoiceField(['default', 'extended', '24h', 'in_memory'], {
    description: '`extended` and `24h`: keep the cached prompt before others for a day.',
  })
  prompt_cache_retention?: string;

  @ObjectListField(() => ChatFallback, [ChatFallback], { maxItems: 10, description: 'Accepted without effect.' })
  fallbacks?: ChatFallback[];

  @ScalarListField('string', { description: 'Accepted without effect.' })
  include?: string[];

  @CheckedField({
    name: 'isMetadata',
    description: 'Up to 16 key-value pairs. Accepted without effect.',
    schema: { type: 'object', additionalProperties: { type: 'string' } },
    check: metadataProblem,
  })
  metadata?: Record<string, string>;

  @TextField({ description: 'Accepted without effect.' })
  user?: string;

  @BooleanField({ description: 'Accepted without effect.' })
  store?: boolean;

  @ObjectField(ChatServiceParameters, { description: 'Extensions of this service to the OpenAI request.' })
  service_parameters?: ChatServiceParameters;
}
