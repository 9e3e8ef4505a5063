import { ApiProperty } from '@nestjs/swagger';
import { ChatCost, ChatUsage } from '../chat.response.js';

/* OpenAI's text completion. Streamed chunks have the same members. */

export class CompletionLogprobs {
  @ApiProperty({ type: 'array', items: { type: 'string' }, example: [' there'] })
  tokens!: string[];

  @ApiProperty({
    type: 'array',
    items: { type: 'number', nullable: true },
    description: 'Natural logarithms; null for the first token of a prompt.',
    example: [-0.31],
  })
  token_logprobs!: (number | null)[];

  @ApiProperty({
    type: 'array',
    items: { type: 'object', additionalProperties: { type: 'number' }, nullable: true },
    description: 'The alternatives of each token, and the token itself; null for the first token of a prompt.',
    example: [{ ' there': -0.31 }],
  })
  top_logprobs!: (Record<string, number> | null)[];

  @ApiProperty({
    type: 'array',
    items: { type: 'integer' },
    description: 'Where each token begins in the text, in Unicode characters.',
    example: [0],
  })
  text_offset!: number[];
}

export class CompletionChoice {
  @ApiProperty({ type: 'string', example: ' there was a small boat.' })
  text!: string;

  @ApiProperty({ type: 'integer', description: 'Prompt by prompt, `n` each.', example: 0 })
  index!: number;

  @ApiProperty({ type: () => CompletionLogprobs, nullable: true })
  logprobs!: CompletionLogprobs | null;

  @ApiProperty({ type: 'string', enum: ['stop', 'length'], example: 'length' })
  finish_reason!: 'stop' | 'length';
}

export class CompletionResponse {
  @ApiProperty({ type: 'string', example: 'cmpl-8f3a1b2c4d5e6f70-SLC' })
  id!: string;

  @ApiProperty({ type: 'string', enum: ['text_completion'], example: 'text_completion' })
  object!: 'text_completion';

  @ApiProperty({ type: 'integer', description: 'Unix seconds.', example: 1_795_000_000 })
  created!: number;

  @ApiProperty({ type: 'string', description: 'The id the requested model resolved to.', example: 'stories-15m' })
  model!: string;

  @ApiProperty({ type: () => CompletionChoice, isArray: true })
  choices!: CompletionChoice[];

  @ApiProperty({ type: () => ChatUsage })
  usage!: ChatUsage;

  @ApiProperty({ type: () => ChatCost })
  cost!: ChatCost;
}
