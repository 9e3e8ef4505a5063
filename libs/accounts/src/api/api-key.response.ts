import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';

/* Responses of `/api_keys`, for the API document and the types of the presenter. */

const limit = { type: 'number', nullable: true, required: false, minimum: 0, maximum: 9_999_999_999 } as const;
const time = { type: 'string', nullable: true, example: '2026-11-21T12:00:00.000Z' } as const;

/** A member that only some responses have. */
function Optional(schema: ApiPropertyOptions): PropertyDecorator {
  return ApiProperty({ ...schema, required: false } as ApiPropertyOptions);
}

export class KeyLimitsResponse {
  @ApiProperty({ ...limit, example: 25 }) usd!: number | null;
  @ApiProperty({ ...limit, example: null }) diem!: number | null;
  @ApiProperty({ ...limit, deprecated: true, description: 'The same as `diem`.' }) vcu!: number | null;
}

export class KeySevenDaysResponse {
  @ApiProperty({ type: 'string', example: '1.204800' }) usd!: string;
  @ApiProperty({ type: 'string', deprecated: true, description: 'The same as `diem`.' }) vcu!: string;
  @ApiProperty({ type: 'string', example: '0.000000' }) diem!: string;
}

export class KeyUsageResponse {
  @ApiProperty({ type: () => KeySevenDaysResponse, description: 'Today and the six days before, in UTC.' })
  trailingSevenDays!: KeySevenDaysResponse;
}

export class KeyPeriodUsageResponse {
  @ApiProperty({ type: 'string', example: '0.120000' }) usd!: string;
  @ApiProperty({ type: 'string', example: '0.000000' }) diem!: string;
}

/** Fields of every response about a key. */
class KeyBaseResponse {
  @ApiProperty({ type: 'string', example: '5f6c1c0e-2f7b-4b5e-9f0a-3d1d0c7a2b11' }) id!: string;
  @ApiProperty({ type: 'string', enum: ['INFERENCE', 'ADMIN'] }) apiKeyType!: string;
  @ApiProperty({ type: 'string', enum: ['EPOCH', 'MONTH', 'LIFETIME'] }) limitPeriod!: string;
  @ApiProperty({ type: 'string', enum: ['ALL', 'PRIVATE_TEXT', 'PRIVATE_ONLY'] }) modelPrivacy!: string;
  @Optional({ type: 'string', example: 'Batch jobs' }) description!: string;
  @ApiProperty(time) expiresAt!: string | null;
}

export class CreatedKeyResponse extends KeyBaseResponse {
  @ApiProperty({ type: 'string', description: 'The key. It is shown here and never again.', example: 'slk_…' })
  apiKey!: string;

  @ApiProperty({ type: () => KeyLimitsResponse }) consumptionLimit!: KeyLimitsResponse;
}

export class ChangedKeyResponse extends KeyBaseResponse {
  @ApiProperty({ type: () => KeyLimitsResponse }) consumptionLimits!: KeyLimitsResponse;
  @ApiProperty(time) createdAt!: string | null;
  @ApiProperty({ type: 'string', example: 'x3Zk9Q' }) last6Chars!: string;
  @ApiProperty({ ...time, description: 'To the minute.' }) lastUsedAt!: string | null;
}

export class KeyResponse extends ChangedKeyResponse {
  @Optional({ type: () => KeyUsageResponse }) usage!: KeyUsageResponse;

  @Optional({
    type: () => KeyPeriodUsageResponse,
    description: 'Spent in the current period of the limits; only for keys with limits.',
  })
  currentPeriodUsage?: KeyPeriodUsageResponse;
}

export class KeyListResponse {
  @ApiProperty({ type: 'string', enum: ['list'] }) object!: 'list';
  @ApiProperty({ type: () => KeyResponse, isArray: true }) data!: KeyResponse[];
}

export class KeyDataResponse {
  @ApiProperty({ type: () => KeyResponse }) data!: KeyResponse;
}

export class CreatedKeyDataResponse {
  @ApiProperty({ type: 'boolean' }) success!: true;
  @ApiProperty({ type: () => CreatedKeyResponse }) data!: CreatedKeyResponse;
}

export class ChangedKeyDataResponse {
  @ApiProperty({ type: 'boolean' }) success!: true;
  @ApiProperty({ type: () => ChangedKeyResponse }) data!: ChangedKeyResponse;
}

export class DeletedKeyResponse {
  @ApiProperty({ type: 'boolean' }) success!: true;
}

export class Web3TokenResponse {
  @ApiProperty({ type: 'string', description: 'Sign this text unchanged.' }) token!: string;
}

export class Web3TokenDataResponse {
  @ApiProperty({ type: 'boolean' }) success!: true;
  @ApiProperty({ type: () => Web3TokenResponse }) data!: Web3TokenResponse;
}
