import { ApiProperty } from '@nestjs/swagger';

export const warningCodes = [
  'tool_skipped',
  'not_stored',
  'web_search_failed',
  'schema_keywords_ignored',
  'schema_relaxed',
  'schema_violated',
  'reduced_to_model',
] as const;

/** What of the request was left out, or what the response does not keep. */
export class ChatWarning {
  @ApiProperty({ type: 'string', enum: [...warningCodes] })
  code!: (typeof warningCodes)[number];

  @ApiProperty({ type: 'string', description: 'The field of the request.', example: 'tools[1]' })
  param!: string;

  @ApiProperty({ type: 'string' })
  message!: string;
}
