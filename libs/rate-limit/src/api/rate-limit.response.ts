import { ApiProperty } from '@nestjs/swagger';

/* Responses about rate limits, for the API document and the types of the controller. */

export class LimitAmount {
  @ApiProperty({ type: 'number', description: 'Per minute.', example: 500 }) amount!: number;
  @ApiProperty({ type: 'string', example: 'RPM', description: '`RPM` requests or `TPM` tokens per minute.' })
  type!: string;
}

export class ModelLimits {
  @ApiProperty({ type: 'string', example: 'stories-15m', required: false }) apiModelId?: string;
  @ApiProperty({ type: () => LimitAmount, isArray: true }) rateLimits!: LimitAmount[];
}

export class LimitTierResponse {
  @ApiProperty({ type: 'string', example: 'default', description: '`default` or `partner`.' }) id!: string;
  @ApiProperty({ type: 'boolean', description: 'Whether requests are billed.' }) isCharged!: boolean;
}

export class LimitBalances {
  @ApiProperty({ type: 'number', required: false, example: 99.87 }) USD?: number;
  @ApiProperty({ type: 'number', required: false, example: 0 }) DIEM?: number;
}

export class KeyRateLimits {
  @ApiProperty({ type: 'boolean', description: 'Whether the account has any balance to spend.' })
  accessPermitted!: boolean;
  @ApiProperty({ type: () => LimitTierResponse }) apiTier!: LimitTierResponse;
  @ApiProperty({ type: () => LimitBalances }) balances!: LimitBalances;
  @ApiProperty({ type: 'string', nullable: true, description: 'When this key expires.' }) keyExpiration!: string | null;
  @ApiProperty({ type: 'string', description: 'When the next day (UTC) begins.', example: '2026-11-22T00:00:00.000Z' })
  nextEpochBegins!: string;
  @ApiProperty({ type: () => ModelLimits, isArray: true }) rateLimits!: ModelLimits[];
}

export class RateLimitsResponse {
  @ApiProperty({ type: () => KeyRateLimits }) data!: KeyRateLimits;
}

export class RefusalLine {
  @ApiProperty({ type: 'string' }) apiKeyId!: string;
  @ApiProperty({ type: 'string', description: 'Empty for requests without a model.' }) modelId!: string;
  @ApiProperty({ type: 'string', example: 'default' }) rateLimitTier!: string;
  @ApiProperty({
    type: 'string',
    enum: ['RPD', 'RPM', 'TPM', 'FAILED_REQUESTS', 'UNSUPPORTED_FEATURE_REQUESTS'],
  })
  rateLimitType!: string;
  @ApiProperty({ type: 'string', example: '2026-11-21T12:00:00.000Z' }) timestamp!: string;
}

export class RateLimitLogResponse {
  @ApiProperty({ type: 'string', enum: ['list'] }) object!: 'list';
  @ApiProperty({ type: () => RefusalLine, isArray: true }) data!: RefusalLine[];
}
