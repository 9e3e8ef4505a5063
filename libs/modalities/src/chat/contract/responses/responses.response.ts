import { ApiExtraModels, ApiProperty } from '@nestjs/swagger';
import { ChatWarning } from '../chat.warning.js';
import {
  BooleanMember,
  ChoiceMember,
  IntegerMember,
  ListMember,
  NumberMember,
  ObjectMember,
  ObjectsMember,
  TextMember,
} from './response-fields.js';

/*
 * The response resource and its output items, as the public OpenAI reference and the Open Responses specification
 * (https://www.openresponses.org/specification) describe them. Events carry the same objects.
 */

const anyObject = { type: 'object', additionalProperties: { nullable: true }, nullable: true } as const;

export type ResponsesStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed';
export type ResponsesItemStatus = 'in_progress' | 'completed' | 'incomplete';

const itemStatuses = ['completed', 'in_progress', 'incomplete'];

export class ResponsesUrlCitation {
  @ChoiceMember(['url_citation']) type!: 'url_citation';
  @TextMember() url!: string;
  @TextMember({ required: false }) title?: string;
  @IntegerMember() start_index!: number;
  @IntegerMember() end_index!: number;
}

export interface ResponsesLogprob {
  token: string;
  /** Natural logarithm. */
  logprob: number;
  bytes: number[] | null;
  top_logprobs: { token: string; logprob: number; bytes: number[] | null }[];
}

export class ResponsesTextContent {
  @ChoiceMember(['output_text'], { example: 'output_text' }) type!: 'output_text';
  @TextMember({ example: 'Once there was a small boat.' }) text!: string;
  @ListMember(() => ResponsesUrlCitation, { required: false }) annotations!: ResponsesUrlCitation[];
  @ObjectsMember({ required: false, description: 'Empty unless included.' }) logprobs!: ResponsesLogprob[];
}

export class ResponsesMessage {
  @ChoiceMember(['message'], { example: 'message' }) type!: 'message';
  @TextMember({ example: 'msg_8f3a1b2c4d5e6f70-SLC_0' }) id!: string;
  @ChoiceMember(itemStatuses, { example: 'completed' }) status!: ResponsesItemStatus;
  @ChoiceMember(['assistant'], { example: 'assistant' }) role!: 'assistant';
  @ListMember(() => ResponsesTextContent) content!: ResponsesTextContent[];
}

export class ResponsesReasoningText {
  @ChoiceMember(['reasoning_text']) type!: 'reasoning_text';
  @TextMember() text!: string;
}

export class ResponsesSummaryText {
  @ChoiceMember(['summary_text']) type!: 'summary_text';
  @TextMember() text!: string;
}

export class ResponsesReasoningOutput {
  @ChoiceMember(['reasoning']) type!: 'reasoning';
  @TextMember() id!: string;
  @ChoiceMember(itemStatuses, { required: false }) status!: ResponsesItemStatus;
  @ListMember(() => ResponsesSummaryText, {
    required: false,
    description: 'The reasoning, if the request names `reasoning.summary`.',
  })
  summary!: ResponsesSummaryText[];
  @ListMember(() => ResponsesReasoningText, {
    required: false,
    description: 'The reasoning, unless it is in the summary.',
  })
  content?: ResponsesReasoningText[];
  @TextMember({ required: false, description: 'If included: the reasoning, to be sent back.' })
  encrypted_content?: string;
}

export class ResponsesFunctionCall {
  @ChoiceMember(['function_call']) type!: 'function_call';
  @TextMember() id!: string;
  @TextMember() call_id!: string;
  @TextMember() name!: string;
  @TextMember({ required: false, description: 'Namespace of the function, if it has one.' }) namespace?: string;
  @TextMember({ description: 'JSON.' }) arguments!: string;
  @ChoiceMember(itemStatuses) status!: ResponsesItemStatus;
}

export class ResponsesCustomToolCall {
  @ChoiceMember(['custom_tool_call']) type!: 'custom_tool_call';
  @TextMember() id!: string;
  @TextMember() call_id!: string;
  @TextMember() name!: string;
  @TextMember({ required: false, description: 'Namespace of the tool, if it has one.' }) namespace?: string;
  @TextMember({ description: 'Free text.' }) input!: string;
  @ChoiceMember(itemStatuses) status!: ResponsesItemStatus;
}

export class ResponsesWebSource {
  @ChoiceMember(['url']) type!: 'url';
  @TextMember() url!: string;
}

export class ResponsesWebAction {
  @ChoiceMember(['search', 'open_page'], { example: 'search' }) type!: 'search' | 'open_page';
  @TextMember({ required: false, description: 'Of a search.', example: 'tides today' }) query?: string;

  @ApiProperty({ type: 'string', isArray: true, required: false, description: 'The same, as a list.' })
  queries?: string[];
  @ListMember(() => ResponsesWebSource, { required: false, description: 'If included.' })
  sources?: ResponsesWebSource[];
  @TextMember({ required: false, description: 'Of a page.' }) url?: string;
}

/** A lookup in the web, which was made before the model began. */
export class ResponsesWebSearchCall {
  @ChoiceMember(['web_search_call']) type!: 'web_search_call';
  @TextMember() id!: string;
  @ChoiceMember(['in_progress', 'completed', 'failed']) status!: 'in_progress' | 'completed' | 'failed';
  @ObjectMember(() => ResponsesWebAction) action!: ResponsesWebAction;
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
  @IntegerMember({ required: false, example: 0 }) cached_tokens!: number;
  @IntegerMember({ required: false, description: 'Tokens written to the cache.', example: 0 })
  cache_write_tokens!: number;
}

export class ResponsesOutputDetails {
  @IntegerMember({ required: false, example: 0 }) reasoning_tokens!: number;
}

export class ResponsesUsage {
  @IntegerMember({ example: 12 }) input_tokens!: number;
  @ObjectMember(() => ResponsesInputDetails, { required: false }) input_tokens_details!: ResponsesInputDetails;
  @IntegerMember({ example: 48 }) output_tokens!: number;
  @ObjectMember(() => ResponsesOutputDetails, { required: false }) output_tokens_details!: ResponsesOutputDetails;
  @IntegerMember({ example: 60 }) total_tokens!: number;
}

export class ResponsesError {
  @TextMember() code!: string;
  @TextMember() message!: string;
}

export class ResponsesIncompleteDetails {
  @ChoiceMember(['max_output_tokens']) reason!: 'max_output_tokens';
}

/** What of the request was left out, or what the response does not keep. */
export class ResponsesWarning extends ChatWarning {}

/** Members that repeat the request, with the values in effect. */
class ResponsesEcho {
  @TextMember({ nullable: true, required: false }) instructions!: string | null;
  @IntegerMember({ nullable: true, required: false }) max_output_tokens!: number | null;
  @IntegerMember({ nullable: true, required: false }) max_tool_calls!: number | null;

  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, selfRequired: false })
  metadata!: Record<string, string>;
  @BooleanMember({ required: false }) parallel_tool_calls!: boolean;
  @TextMember({ nullable: true, required: false }) previous_response_id!: string | null;
  @TextMember({ nullable: true, required: false }) prompt_cache_key!: string | null;
  @TextMember({ nullable: true, required: false }) prompt_cache_retention!: string | null;

  @ApiProperty({ ...anyObject, selfRequired: false })
  reasoning!: { effort: string | null; summary: string | null };

  @ApiProperty({ type: 'string', nullable: true, required: false })
  safety_identifier!: string | null;
  @TextMember({ required: false }) service_tier!: string;
  @BooleanMember({ required: false, description: 'Whether the response is stored.' }) store!: boolean;
  @NumberMember({ required: false }) temperature!: number;

  @ApiProperty({ ...anyObject, selfRequired: false })
  text!: { format: object; verbosity: string };

  @ApiProperty({ required: false, anyOf: [{ type: 'string' }, anyObject] })
  tool_choice!: unknown;
  @ObjectsMember({ required: false }) tools!: object[];
  @IntegerMember({ required: false }) top_logprobs!: number;
  @NumberMember({ required: false }) top_p!: number;
  @NumberMember({ required: false, example: 0 }) presence_penalty!: number;
  @NumberMember({ required: false, example: 0 }) frequency_penalty!: number;
  @ChoiceMember(['auto', 'disabled'], { required: false }) truncation!: 'auto' | 'disabled';
  @TextMember({ nullable: true, required: false }) user!: string | null;
}

@ApiExtraModels(...outputItems)
export class ResponsesResponse extends ResponsesEcho {
  @TextMember({ example: 'resp_8f3a1b2c4d5e6f70-SLC' }) id!: string;
  @ChoiceMember(['response'], { example: 'response' }) object!: 'response';
  @IntegerMember({ description: 'Unix seconds.', example: 1_795_000_000 }) created_at!: number;
  @IntegerMember({ nullable: true, required: false, description: 'Unix seconds.' }) completed_at!: number | null;
  @ChoiceMember(['completed', 'failed', 'in_progress', 'incomplete'], { example: 'completed' })
  status!: ResponsesStatus;

  @ApiProperty({ type: 'boolean', enum: [false], required: false })
  background!: false;
  @ObjectMember(() => ResponsesError, { nullable: true, required: false }) error!: ResponsesError | null;
  @ObjectMember(() => ResponsesIncompleteDetails, { nullable: true, required: false })
  incomplete_details!: ResponsesIncompleteDetails | null;
  @TextMember({ description: 'The id the requested model resolved to.', example: 'stories-15m' }) model!: string;

  @ApiProperty({
    type: 'array',
    items: {
      anyOf: outputItems.map(({ name }) => ({ $ref: `#/components/schemas/${name}` })),
    },
  })
  output!: ResponsesOutputItem[];
  @ObjectMember(() => ResponsesUsage, { nullable: true, required: false }) usage!: ResponsesUsage | null;
  @ListMember(() => ResponsesWarning, { required: false, description: 'Absent without any.' })
  warnings?: ResponsesWarning[];
}

/** Response of `POST /responses/input_tokens`. */
export class ResponsesInputTokens {
  @ChoiceMember(['response.input_tokens'], { example: 'response.input_tokens' }) object!: 'response.input_tokens';
  @IntegerMember({ minimum: 0, example: 42 }) input_tokens!: number;
}
