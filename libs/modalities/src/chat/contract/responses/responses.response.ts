import { ApiExtraModels, ApiProperty } from '@nestjs/swagger';
import { ChatWarning } from '../chat.warning.js';

/*
 * The response resource and its output items, as the public OpenAI reference and the Open Responses specification
 * (https://www.openresponses.org/specification) describe them. Events carry the same objects.
 */

const anyObject = { type: 'object', additionalProperties: { nullable: true }, nullable: true } as const;

export type ResponsesStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed';
export type ResponsesItemStatus = 'in_progress' | 'completed' | 'incomplete';

const itemStatuses = ['completed', 'in_progress', 'incomplete'];

export class ResponsesUrlCitation {
  @ApiProperty({ type: 'string', enum: ['url_citation'] })
  type!: 'url_citation';

  @ApiProperty({ type: 'string' })
  url!: string;

  @ApiProperty({ type: 'string', required: false })
  title?: string;

  @ApiProperty({ type: 'integer' })
  start_index!: number;

  @ApiProperty({ type: 'integer' })
  end_index!: number;
}

export interface ResponsesLogprob {
  token: string;
  /** Natural logarithm. */
  logprob: number;
  bytes: number[] | null;
  top_logprobs: { token: string; logprob: number; bytes: number[] | null }[];
}

export class ResponsesTextContent {
  @ApiProperty({ type: 'string', enum: ['output_text'], example: 'output_text' })
  type!: 'output_text';

  @ApiProperty({ type: 'string', example: 'Once there was a small boat.' })
  text!: string;

  @ApiProperty({ type: () => ResponsesUrlCitation, isArray: true, required: false })
  annotations!: ResponsesUrlCitation[];

  @ApiProperty({ type: 'array', items: { type: 'object' }, required: false, description: 'Empty unless included.' })
  logprobs!: ResponsesLogprob[];
}

export class ResponsesMessage {
  @ApiProperty({ type: 'string', enum: ['message'], example: 'message' })
  type!: 'message';

  @ApiProperty({ type: 'string', example: 'msg_8f3a1b2c4d5e6f70-SLC_0' })
  id!: string;

  @ApiProperty({ type: 'string', enum: itemStatuses, example: 'completed' })
  status!: ResponsesItemStatus;

  @ApiProperty({ type: 'string', enum: ['assistant'], example: 'assistant' })
  role!: 'assistant';

  @ApiProperty({ type: () => ResponsesTextContent, isArray: true })
  content!: ResponsesTextContent[];
}

export class ResponsesReasoningText {
  @ApiProperty({ type: 'string', enum: ['reasoning_text'] })
  type!: 'reasoning_text';

  @ApiProperty({ type: 'string' })
  text!: string;
}

export class ResponsesSummaryText {
  @ApiProperty({ type: 'string', enum: ['summary_text'] })
  type!: 'summary_text';

  @ApiProperty({ type: 'string' })
  text!: string;
}

export class ResponsesReasoningOutput {
  @ApiProperty({ type: 'string', enum: ['reasoning'] })
  type!: 'reasoning';

  @ApiProperty({ type: 'string' })
  id!: string;

  @ApiProperty({ type: 'string', enum: itemStatuses, required: false })
  status!: ResponsesItemStatus;

  @ApiProperty({
    type: () => ResponsesSummaryText,
    isArray: true,
    required: false,
    description: 'The reasoning, if the request names `reasoning.summary`.',
  })
  summary!: ResponsesSummaryText[];

  @ApiProperty({
    type: () => ResponsesReasoningText,
    isArray: true,
    required: false,
    description: 'The reasoning, unless it is in the summary.',
  })
  content?: ResponsesReasoningText[];

  @ApiProperty({ type: 'string', required: false, description: 'If included: the reasoning, to be sent back.' })
  encrypted_content?: string;
}

export class ResponsesFunctionCall {
  @ApiProperty({ type: 'string', enum: ['function_call'] })
  type!: 'function_call';

  @ApiProperty({ type: 'string' })
  id!: string;

  @ApiProperty({ type: 'string' })
  call_id!: string;

  @ApiProperty({ type: 'string' })
  name!: string;

  @ApiProperty({ type: 'string', required: false, description: 'Namespace of the function, if it has one.' })
  namespace?: string;

  @ApiProperty({ type: 'string', description: 'JSON.' })
  arguments!: string;

  @ApiProperty({ type: 'string', enum: itemStatuses })
  status!: ResponsesItemStatus;
}

export class ResponsesCustomToolCall {
  @ApiProperty({ type: 'string', enum: ['custom_tool_call'] })
  type!: 'custom_tool_call';

  @ApiProperty({ type: 'string' })
  id!: string;

  @ApiProperty({ type: 'string' })
  call_id!: string;

  @ApiProperty({ type: 'string' })
  name!: string;

  @ApiProperty({ type: 'string', required: false, description: 'Namespace of the tool, if it has one.' })
  namespace?: string;

  @ApiProperty({ type: 'string', description: 'Free text.' })
  input!: string;

  @ApiProperty({ type: 'string', enum: itemStatuses })
  status!: ResponsesItemStatus;
}

export class ResponsesWebSource {
  @ApiProperty({ type: 'string', enum: ['url'] })
  type!: 'url';

  @ApiProperty({ type: 'string' })
  url!: string;
}

export class ResponsesWebAction {
  @ApiProperty({ type: 'string', enum: ['search', 'open_page'], example: 'search' })
  type!: 'search' | 'open_page';

  @ApiProperty({ type: 'string', required: false, description: 'Of a search.', example: 'tides today' })
  query?: string;

  @ApiProperty({ type: 'string', isArray: true, required: false, description: 'The same, as a list.' })
  queries?: string[];

  @ApiProperty({ type: () => ResponsesWebSource, isArray: true, required: false, description: 'If included.' })
  sources?: ResponsesWebSource[];

  @ApiProperty({ type: 'string', required: false, description: 'Of a page.' })
  url?: string;
}

/** A lookup in the web, which was made before the model began. */
export class ResponsesWebSearchCall {
  @ApiProperty({ type: 'string', enum: ['web_search_call'] })
  type!: 'web_search_call';

  @ApiProperty({ type: 'string' })
  id!: string;

  @ApiProperty({ type: 'string', enum: ['in_progress', 'completed', 'failed'] })
  status!: 'in_progress' | 'completed' | 'failed';

  @ApiProperty({ type: () => ResponsesWebAction })
  action!: ResponsesWebAction;
}

export type ResponsesOutputItem =
  | ResponsesMessage
  | ResponsesReasoningOutput
  | ResponsesFunctionCall
  | ResponsesCustomToolCall
  | ResponsesWebSearchCall;

const outputItems = [
  ResponsesReasoningOutput,
  ResponsesMessage,
  ResponsesFunctionCall,
  ResponsesCustomToolCall,
  ResponsesWebSearchCall,
];

export class ResponsesInputDetails {
  @ApiProperty({ type: 'integer', required: false, example: 0 })
  cached_tokens!: number;

  @ApiProperty({ type: 'integer', required: false, description: 'Tokens written to the cache.', example: 0 })
  cache_write_tokens!: number;
}

export class ResponsesOutputDetails {
  @ApiProperty({ type: 'integer', required: false, example: 0 })
  reasoning_tokens!: number;
}

export class ResponsesUsage {
  @ApiProperty({ type: 'integer', example: 12 })
  input_tokens!: number;

  @ApiProperty({ type: () => ResponsesInputDetails, required: false })
  input_tokens_details!: ResponsesInputDetails;

  @ApiProperty({ type: 'integer', example: 48 })
  output_tokens!: number;

  @ApiProperty({ type: () => ResponsesOutputDetails, required: false })
  output_tokens_details!: ResponsesOutputDetails;

  @ApiProperty({ type: 'integer', example: 60 })
  total_tokens!: number;
}

export class ResponsesError {
  @ApiProperty({ type: 'string' })
  code!: string;

  @ApiProperty({ type: 'string' })
  message!: string;
}

export class ResponsesIncompleteDetails {
  @ApiProperty({ type: 'string', enum: ['max_output_tokens'] })
  reason!: 'max_output_tokens';
}

/** What of the request was left out, or what the response does not keep. */
export class ResponsesWarning extends ChatWarning {}

/** Members that repeat the request, with the values in effect. */
class ResponsesEcho {
  @ApiProperty({ type: 'string', nullable: true, required: false })
  instructions!: string | null;

  @ApiProperty({ type: 'integer', nullable: true, required: false })
  max_output_tokens!: number | null;

  @ApiProperty({ type: 'integer', nullable: true, required: false })
  max_tool_calls!: number | null;

  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, selfRequired: false })
  metadata!: Record<string, string>;

  @ApiProperty({ type: 'boolean', required: false })
  parallel_tool_calls!: boolean;

  @ApiProperty({ type: 'string', nullable: true, required: false })
  previous_response_id!: string | null;

  @ApiProperty({ type: 'string', nullable: true, required: false })
  prompt_cache_key!: string | null;

  @ApiProperty({ type: 'string', nullable: true, required: false })
  prompt_cache_retention!: string | null;

  @ApiProperty({ ...anyObject, selfRequired: false })
  reasoning!: { effort: string | null; summary: string | null };

  @ApiProperty({ type: 'string', nullable: true, required: false })
  safety_identifier!: string | null;

  @ApiProperty({ type: 'string', required: false })
  service_tier!: string;

  @ApiProperty({ type: 'boolean', required: false, description: 'Whether the response is stored.' })
  store!: boolean;

  @ApiProperty({ type: 'number', required: false })
  temperature!: number;

  @ApiProperty({ ...anyObject, selfRequired: false })
  text!: { format: object; verbosity: string };

  @ApiProperty({ required: false, anyOf: [{ type: 'string' }, anyObject] })
  tool_choice!: unknown;

  @ApiProperty({ type: 'array', items: { type: 'object' }, required: false })
  tools!: object[];

  @ApiProperty({ type: 'integer', required: false })
  top_logprobs!: number;

  @ApiProperty({ type: 'number', required: false })
  top_p!: number;

  @ApiProperty({ type: 'number', required: false, example: 0 })
  presence_penalty!: number;

  @ApiProperty({ type: 'number', required: false, example: 0 })
  frequency_penalty!: number;

  @ApiProperty({ type: 'string', enum: ['auto', 'disabled'], required: false })
  truncation!: 'auto' | 'disabled';

  @ApiProperty({ type: 'string', nullable: true, required: false })
  user!: string | null;
}

@ApiExtraModels(...outputItems)
export class ResponsesResponse extends ResponsesEcho {
  @ApiProperty({ type: 'string', example: 'resp_8f3a1b2c4d5e6f70-SLC' })
  id!: string;

  @ApiProperty({ type: 'string', enum: ['response'], example: 'response' })
  object!: 'response';

  @ApiProperty({ type: 'integer', description: 'Unix seconds.', example: 1_795_000_000 })
  created_at!: number;

  @ApiProperty({ type: 'integer', nullable: true, required: false, description: 'Unix seconds.' })
  completed_at!: number | null;

  @ApiProperty({ type: 'string', enum: ['completed', 'failed', 'in_progress', 'incomplete'], example: 'completed' })
  status!: ResponsesStatus;

  @ApiProperty({ type: 'boolean', enum: [false], required: false })
  background!: false;

  @ApiProperty({ type: () => ResponsesError, nullable: true, required: false })
  error!: ResponsesError | null;

  @ApiProperty({ type: () => ResponsesIncompleteDetails, nullable: true, required: false })
  incomplete_details!: ResponsesIncompleteDetails | null;

  @ApiProperty({ type: 'string', description: 'The id the requested model resolved to.', example: 'stories-15m' })
  model!: string;

  @ApiProperty({
    type: 'array',
    items: {
      anyOf: outputItems.map(({ name }) => ({ $ref: `#/components/schemas/${name}` })),
    },
  })
  output!: ResponsesOutputItem[];

  @ApiProperty({ type: () => ResponsesUsage, nullable: true, required: false })
  usage!: ResponsesUsage | null;

  @ApiProperty({ type: () => ResponsesWarning, isArray: true, required: false, description: 'Absent without any.' })
  warnings?: ResponsesWarning[];
}

/** Response of `POST /responses/input_tokens`. */
export class ResponsesInputTokens {
  @ApiProperty({ type: 'string', enum: ['response.input_tokens'], example: 'response.input_tokens' })
  object!: 'response.input_tokens';

  @ApiProperty({ type: 'integer', minimum: 0, example: 42 })
  input_tokens!: number;
}
