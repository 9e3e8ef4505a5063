import { ApiProperty } from '@nestjs/swagger';

/* Response of `GET /billing/usage-analytics`. */

const amount = { type: 'number', example: 0.12 } as const;
const series = {
  type: 'array',
  items: { type: 'object', additionalProperties: { type: 'number' } },
  example: [{ date: 1_795_219_200_000, 'stories-15m': 0.01 }],
} as const;

export class DateUsageResponse {
  @ApiProperty({ type: 'string', example: '2026-11-21' }) date!: string;
  @ApiProperty(amount) USD!: number;
  @ApiProperty(amount) DIEM!: number;
}

export class ModelPartResponse {
  @ApiProperty({ type: 'string', example: 'output' }) type!: string;
  @ApiProperty(amount) usd!: number;
  @ApiProperty(amount) diem!: number;
  @ApiProperty({ type: 'number', example: 48_000 }) units!: number;
}

export class ModelUsageResponse {
  @ApiProperty({ type: 'string', example: 'stories-15m' }) modelName!: string;
  @ApiProperty({ type: 'string', description: 'tokens, images, chars, minutes or seconds.' }) unitType!: string;

  @ApiProperty({ type: 'string', nullable: true, description: 'LLM, IMAGE, TTS, ASR, VIDEO; null for other kinds.' })
  modelType!: string | null;

  @ApiProperty(amount) totalUsd!: number;
  @ApiProperty(amount) totalDiem!: number;
  @ApiProperty({ type: 'number', example: 60_000 }) totalUnits!: number;
  @ApiProperty({ type: () => ModelPartResponse, isArray: true, required: false }) breakdown!: ModelPartResponse[];
}

export class KeyTotalsResponse {
  @ApiProperty({ type: 'string', nullable: true }) apiKeyId!: string | null;
  @ApiProperty({ type: 'string', example: 'Batch jobs' }) description!: string;
  @ApiProperty(amount) totalUsd!: number;
  @ApiProperty(amount) totalDiem!: number;
  @ApiProperty({ type: 'number', example: 60_000 }) totalUnits!: number;
}

export class UsageAnalyticsResponse {
  @ApiProperty({ type: 'string', description: 'Number of days.', example: '7d' }) lookback!: string;
  @ApiProperty({ type: () => DateUsageResponse, isArray: true }) byDate!: DateUsageResponse[];
  @ApiProperty({ type: () => ModelUsageResponse, isArray: true }) byModel!: ModelUsageResponse[];
  @ApiProperty({ ...series, description: 'DIEM per day of each top model.' }) byModelDaily!: Record<string, number>[];
  @ApiProperty({ type: 'array', items: { type: 'string' }, example: ['stories-15m'] }) topModels!: string[];
  @ApiProperty({ type: () => KeyTotalsResponse, isArray: true }) byKey!: KeyTotalsResponse[];
  @ApiProperty({ ...series, description: 'DIEM per day of each top key.' }) byKeyDaily!: Record<string, number>[];
  @ApiProperty({ type: 'array', items: { type: 'string' }, example: ['Batch jobs'] }) topKeyNames!: string[];
}
