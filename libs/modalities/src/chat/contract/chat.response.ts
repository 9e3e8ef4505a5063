import { ApiExtraModels, ApiProperty } from '@nestjs/swagger';
import { ChatWarning } from './chat.warning.js';

/*
 * The OpenAI chat completion, for the API document and the types of the presenter. Streamed chunks use the same names.
 */

export class ChatTokenAlternative {
  @ApiProperty({ type: 'string', example: ' boat' })
  token!: string;

  @ApiProperty({ type: 'number', description: 'Natural logarithm.', example: -0.31 })
  logprob!: number;

  @ApiProperty({ type: 'array', items: { type: 'number' }, nullable: true, required: false })
  bytes!: number[] | null;
}

export class ChatTokenLogprob extends ChatTokenAlternative {
  @ApiProperty({ type: () => ChatTokenAlternative, isArray: true })
  top_logprobs!: ChatTokenAlternative[];
}

export class ChatChoiceLogprobs {
  @ApiProperty({ type: () => ChatTokenLogprob, isArray: true })
  content!: ChatTokenLogprob[];

  @ApiProperty({
    type: 'array',
    items: { type: 'object', additionalProperties: true },
    nullable: true,
    required: false,
    description: 'Null: nothing here refuses apart from the text.',
    example: null,
  })
  refusal!: null;
}

export class ChatCalledFunction {
  @ApiProperty({ type: 'string', example: 'get_weather' })
  name!: string;

  @ApiProperty({ type: 'string', description: 'A JSON object as text.', example: '{"city": "Rome"}' })
  arguments!: string;
}

/** A call that the client runs, and answers with a message of role `tool`. */
export class ChatFunctionCall {
  @ApiProperty({ type: 'string', example: 'call_0f3a1b2c4d5e6f708192a3b4' })
  id!: string;

  @ApiProperty({ type: 'string', enum: ['function'], example: 'function' })
  type!: 'function';

  @ApiProperty({ type: () => ChatCalledFunction })
  function!: ChatCalledFunction;
}

export class ChatCalledCustom {
  @ApiProperty({ type: 'string', example: 'apply_patch' })
  name!: string;

  @ApiProperty({ type: 'string', description: 'Text in the format of the tool.', example: '+ a line' })
  input!: string;
}

/** The same, of a custom tool. */
export class ChatCustomCall {
  @ApiProperty({ type: 'string', example: 'call_0f3a1b2c4d5e6f708192a3b4' })
  id!: string;

  @ApiProperty({ type: 'string', enum: ['custom'], example: 'custom' })
  type!: 'custom';

  @ApiProperty({ type: () => ChatCalledCustom })
  custom!: ChatCalledCustom;
}

export type ChatToolCall = ChatFunctionCall | ChatCustomCall;

const toolCalls = [ChatFunctionCall, ChatCustomCall];

/** Reasoning in the form that clients echo as `reasoning_details`. In a stream, each is a piece of one text. */
export class ChatReasoningText {
  @ApiProperty({ type: 'string', enum: ['reasoning.text'], example: 'reasoning.text' })
  type!: 'reasoning.text';

  @ApiProperty({ type: 'string', required: false, example: 'A boat needs a river.' })
  text!: string;

  @ApiProperty({ type: 'string', required: false, description: '`unknown`: plain text.', example: 'unknown' })
  format!: string;

  @ApiProperty({ type: 'number', required: false, example: 0 })
  index!: number;
}

@ApiExtraModels(...toolCalls)
export class ChatCompletionMessage {
  @ApiProperty({ type: 'string', enum: ['assistant'], example: 'assistant' })
  role!: 'assistant';

  @ApiProperty({ type: 'string', nullable: true, required: false, example: 'Once there was a small boat.' })
  content!: string | null;

  @ApiProperty({ type: 'string', nullable: true, required: false })
  reasoning_content!: string | null;

  @ApiProperty({ type: 'string', nullable: true, required: false, description: 'The same as `reasoning_content`.' })
  reasoning!: string | null;

  @ApiProperty({ type: () => ChatReasoningText, isArray: true, required: false })
  reasoning_details?: ChatReasoningText[];

  @ApiProperty({
    type: 'array',
    items: { anyOf: toolCalls.map(({ name }) => ({ $ref: `#/components/schemas/${name}` })) },
    nullable: true,
    required: false,
    description: 'Absent without calls.',
  })
  tool_calls?: ChatToolCall[];
}

export class ChatCompletionChoice {
  @ApiProperty({ type: 'integer', example: 0 })
  index!: number;

  @ApiProperty({ type: 'string', enum: ['stop', 'length', 'tool_calls'], example: 'stop' })
  finish_reason!: 'stop' | 'length' | 'tool_calls';

  @ApiProperty({ type: 'string', enum: ['stop', 'length'], nullable: true, required: false, example: 'stop' })
  stop_reason!: 'stop' | 'length' | null;

  @ApiProperty({ type: () => ChatChoiceLogprobs, nullable: true })
  logprobs!: ChatChoiceLogprobs | null;

  @ApiProperty({ type: () => ChatCompletionMessage })
  message!: ChatCompletionMessage;
}

export class ChatPromptTokensDetails {
  @ApiProperty({ type: 'integer', required: false, example: 0 })
  cached_tokens!: number;

  @ApiProperty({ type: 'integer', required: false, example: 0 })
  cache_creation_input_tokens!: number;
}

export class ChatCompletionTokensDetails {
  @ApiProperty({ type: 'integer', required: false, example: 0 })
  reasoning_tokens!: number;
}

export class ChatUsage {
  @ApiProperty({ type: 'integer', example: 12 })
  prompt_tokens!: number;

  @ApiProperty({ type: 'integer', example: 48 })
  completion_tokens!: number;

  @ApiProperty({ type: 'integer', example: 60 })
  total_tokens!: number;

  @ApiProperty({ type: () => ChatPromptTokensDetails, nullable: true, required: false })
  prompt_tokens_details!: ChatPromptTokensDetails | null;

  @ApiProperty({ type: () => ChatCompletionTokensDetails, nullable: true, required: false })
  completion_tokens_details!: ChatCompletionTokensDetails | null;
}

/** What pays for a request; the two add up to its price. */
export class ChatCost {
  @ApiProperty({ type: 'number', minimum: 0, description: 'In USD and bundled credits.', example: 0.0000312 })
  usd!: number;

  @ApiProperty({ type: 'number', minimum: 0, description: 'In DIEM, which are spent first.', example: 0 })
  diem!: number;
}

export class ChatSearchCitation {
  @ApiProperty({ type: 'string' })
  title!: string;

  @ApiProperty({ type: 'string' })
  url!: string;

  @ApiProperty({ type: 'string', required: false })
  content?: string;

  @ApiProperty({ type: 'string', required: false })
  date?: string;
}

/** The values of `service_parameters` in effect, defaults included. */
export class ChatEffectiveParameters {
  @ApiProperty({ type: 'string', required: false })
  character_slug?: string;

  @ApiProperty({ type: 'boolean', example: false })
  strip_thinking_response!: boolean;

  @ApiProperty({ type: 'boolean', example: false })
  disable_thinking!: boolean;

  @ApiProperty({ type: 'boolean', example: true })
  enable_e2ee!: boolean;

  @ApiProperty({ type: 'string', enum: ['auto', 'off', 'on'], example: 'off' })
  enable_web_search!: string;

  @ApiProperty({ type: 'boolean', example: false })
  enable_web_scraping!: boolean;

  @ApiProperty({ type: 'boolean', example: false })
  enable_web_citations!: boolean;

  @ApiProperty({ type: 'boolean', example: false })
  include_search_results_in_stream!: boolean;

  @ApiProperty({ type: 'boolean', example: false })
  return_search_results_as_documents!: boolean;

  @ApiProperty({ type: 'boolean', example: true })
  include_service_system_prompt!: boolean;

  @ApiProperty({ type: 'boolean', required: false, example: false })
  enable_x_search!: boolean;

  @ApiProperty({ type: () => ChatSearchCitation, isArray: true, required: false })
  web_search_citations!: ChatSearchCitation[];

  @ApiProperty({
    type: 'string',
    required: false,
    description: 'Why the response does without some or all of the web. Absent if everything worked.',
    example: 'The web search took too long.',
  })
  web_search_error?: string;
}

export class ChatCompletionResponse {
  @ApiProperty({ type: 'string', example: 'chatcmpl-8f3a1b2c4d5e6f70-SLC' })
  id!: string;

  @ApiProperty({ type: 'string', enum: ['chat.completion'], example: 'chat.completion' })
  object!: 'chat.completion';

  @ApiProperty({ type: 'integer', description: 'Unix seconds.', example: 1_795_000_000 })
  created!: number;

  @ApiProperty({ type: 'string', description: 'The id the requested model resolved to.', example: 'stories-15m' })
  model!: string;

  @ApiProperty({ type: () => ChatCompletionChoice, isArray: true, required: false })
  choices!: ChatCompletionChoice[];

  @ApiProperty({ type: () => ChatUsage })
  usage!: ChatUsage;

  @ApiProperty({ type: () => ChatCost, required: false })
  cost!: ChatCost;

  @ApiProperty({
    type: 'object',
    additionalProperties: { nullable: true },
    nullable: true,
    selfRequired: false,
    properties: {},
  })
  prompt_logprobs!: null;

  @ApiProperty({ type: () => ChatEffectiveParameters, required: false })
  service_parameters!: ChatEffectiveParameters;

  @ApiProperty({ type: () => ChatWarning, isArray: true, required: false, description: 'Absent without any.' })
  warnings?: ChatWarning[];
}
