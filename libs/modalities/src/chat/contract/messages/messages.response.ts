import { ApiExtraModels, ApiProperty } from '@nestjs/swagger';
import { ChatWarning } from '../chat.warning.js';
import { ChoiceMember, IntegerMember, ListMember, ObjectMember, TextMember } from '../responses/response-fields.js';

/* The response of the Messages API. Events carry the same objects. */

export class MessagesText {
  @ChoiceMember(['text'], { example: 'text' }) type!: 'text';
  @TextMember({ example: 'Once there was a small boat.' }) text!: string;

  @ApiProperty({ type: 'array', items: { type: 'object' }, nullable: true, description: 'Null.', example: null })
  citations!: null;
}

export class MessagesThought {
  @ChoiceMember(['thinking']) type!: 'thinking';
  @TextMember({ description: 'Empty where `display` is `omitted`.' }) thinking!: string;
  @TextMember({ description: 'The reasoning, encrypted for the account.' }) signature!: string;
}

export class MessagesToolUse {
  @ChoiceMember(['tool_use']) type!: 'tool_use';
  @TextMember({ example: 'call_0f3a1b2c4d5e6f708192a3b4' }) id!: string;
  @TextMember({ example: 'get_weather' }) name!: string;
  @ApiProperty({ type: 'object', additionalProperties: { nullable: true }, example: { city: 'Rome' } }) input!: object;
}

export type MessagesBlock = MessagesText | MessagesThought | MessagesToolUse;

const blocks = [MessagesText, MessagesThought, MessagesToolUse];

export class MessagesTokensDetails {
  @IntegerMember({ example: 0 }) thinking_tokens!: number;
}

export class MessagesUsage {
  @IntegerMember({ description: 'Tokens of the prompt that were neither read from nor written to a cache.' })
  input_tokens!: number;

  @IntegerMember({ example: 0 }) cache_creation_input_tokens!: number;
  @IntegerMember({ example: 0 }) cache_read_input_tokens!: number;
  @IntegerMember({ example: 48 }) output_tokens!: number;
  @ObjectMember(() => MessagesTokensDetails) output_tokens_details!: MessagesTokensDetails;
}

export const stopReasons = ['end_turn', 'max_tokens', 'stop_sequence', 'tool_use'] as const;

export type MessagesStopReason = (typeof stopReasons)[number];

@ApiExtraModels(...blocks)
export class MessagesResponse {
  @TextMember({ example: 'msg_8f3a1b2c4d5e6f70-SLC' }) id!: string;
  @ChoiceMember(['message'], { example: 'message' }) type!: 'message';
  @ChoiceMember(['assistant'], { example: 'assistant' }) role!: 'assistant';
  @TextMember({ description: 'The id the requested model resolved to.', example: 'stories-15m' }) model!: string;

  @ApiProperty({
    type: 'array',
    items: { anyOf: blocks.map(({ name }) => ({ $ref: `#/components/schemas/${name}` })) },
  })
  content!: MessagesBlock[];

  @ChoiceMember(stopReasons, { nullable: true, example: 'end_turn' }) stop_reason!: MessagesStopReason | null;
  @TextMember({ nullable: true, example: null }) stop_sequence!: string | null;
  @ObjectMember(() => MessagesUsage) usage!: MessagesUsage;
  @ListMember(() => ChatWarning, { required: false, description: 'Absent without any.' }) warnings?: ChatWarning[];
}

export class MessagesTokenCount {
  @IntegerMember({ example: 12 }) input_tokens!: number;
}
