import { ApiProperty } from '@nestjs/swagger';

/* Response of `GET /overview`. */

const count = { type: 'integer', minimum: 0 } as const;

export class OverviewMinuteResponse {
  @ApiProperty({ type: 'string', format: 'date-time', description: 'When the minute began.' }) at!: string;
  @ApiProperty({ ...count, description: 'Requests that ended.' }) requests!: number;
  @ApiProperty({ ...count, description: 'Those of them that failed.' }) errors!: number;
}

export class OverviewQueueResponse {
  @ApiProperty({ type: 'string', description: 'The kind of request.', example: 'chat' }) type!: string;
  @ApiProperty(count) waiting!: number;
  @ApiProperty(count) running!: number;
  @ApiProperty({ type: 'integer', nullable: true, description: 'How long the oldest one has waited.' })
  oldestMs!: number | null;
}

export class OverviewWorkersResponse {
  @ApiProperty(count) online!: number;
  @ApiProperty({ ...count, description: 'Those that an operator drained.' }) draining!: number;
}

export class OverviewModelsResponse {
  @ApiProperty(count) online!: number;
  @ApiProperty(count) offline!: number;
}

export class OverviewResponse {
  @ApiProperty({ type: 'string', enum: ['key', 'account', 'installation'], description: 'Whose figures these are.' })
  scope!: 'key' | 'account' | 'installation';

  @ApiProperty({ type: 'string', format: 'date-time', description: 'When the first minute began.' }) since!: string;
  @ApiProperty({ type: () => OverviewMinuteResponse, isArray: true, minItems: 60, maxItems: 60 })
  minutes!: OverviewMinuteResponse[];

  @ApiProperty({ type: 'number', description: 'Completion tokens of the last 60 s, per second.' })
  tokensPerSecond!: number;

  @ApiProperty({
    type: 'string',
    example: '0.000048000',
    description: 'In USD, of the account or the key, on the day of `tz`.',
  })
  spendToday!: string;

  @ApiProperty({ type: () => OverviewQueueResponse, isArray: true }) queue!: OverviewQueueResponse[];
  @ApiProperty({ type: () => OverviewWorkersResponse, nullable: true, description: 'For operators.' })
  workers!: OverviewWorkersResponse | null;

  @ApiProperty({ type: () => OverviewModelsResponse }) models!: OverviewModelsResponse;
}
