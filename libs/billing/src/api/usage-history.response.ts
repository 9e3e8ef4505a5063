import { ApiProperty } from '@nestjs/swagger';

/* Response of `GET /billing/usage-history`. */

const count = { type: 'integer', nullable: true, minimum: 0 } as const;

export class InferenceDetailsResponse {
  @ApiProperty({ type: 'string', example: '8f3a1b2c4d5e6f70-SLC' }) requestId!: string;
  @ApiProperty({ ...count, description: 'In ms.', example: 840 }) inferenceExecutionTime!: number | null;
  @ApiProperty({ ...count, example: 12 }) promptTokens!: number | null;
  @ApiProperty({ ...count, example: 48 }) completionTokens!: number | null;
}

export class UsageEntryResponse {
  @ApiProperty({ type: 'string', format: 'date-time', maxLength: 40 }) timestamp!: string;
  @ApiProperty({ type: 'string', example: 'stories-15m-llm-output-mtoken' }) sku!: string;

  @ApiProperty({
    type: 'number',
    description: 'In units of the price: millions of tokens for text.',
    example: 0.000048,
  })
  units!: number;

  @ApiProperty({ type: 'number', example: 0.2 }) pricePerUnitUsd!: number;
  @ApiProperty({ type: 'number', description: 'Negative: it was charged.', example: -0.0000096 }) amount!: number;
  @ApiProperty({ type: 'string', enum: ['USD', 'DIEM', 'BUNDLED_CREDITS'] }) currency!: string;
  @ApiProperty({ type: 'string', example: 'API inference' }) notes!: string;

  @ApiProperty({ type: () => InferenceDetailsResponse, nullable: true })
  inferenceDetails!: InferenceDetailsResponse | null;
}

export class UsageHistoryResponse {
  @ApiProperty({ type: () => UsageEntryResponse, isArray: true, maxItems: 1000 }) data!: UsageEntryResponse[];

  @ApiProperty({
    type: 'string',
    nullable: true,
    maxLength: 512,
    pattern: '^[A-Za-z0-9_-]+$',
    description: 'Give it alone as `cursor` for the next page, within 24 h.',
  })
  nextCursor!: string | null;
}
