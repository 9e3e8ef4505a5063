import { ApiProperty } from '@nestjs/swagger';

/* Response of `GET /health` of the Admin API. */

export class DependencyResponse {
  @ApiProperty({ type: 'string', example: 'database' }) name!: string;
  @ApiProperty({ type: 'boolean' }) ok!: boolean;
  @ApiProperty({ type: 'string', nullable: true, description: 'What is wrong, where the service can say so.' })
  detail!: string | null;
}

export class LedgerFindingResponse {
  @ApiProperty({ type: 'string', example: 'wrongBalances' }) check!: string;
  @ApiProperty({ type: 'integer', description: 'Must be 0.' }) count!: number;
}

export class LedgerHealthResponse {
  @ApiProperty({ type: 'string', format: 'date-time' }) verifiedAt!: string;
  @ApiProperty({ type: 'integer', minimum: 0 }) tookMs!: number;
  @ApiProperty({ type: 'boolean', description: 'Nothing is broken.' }) ok!: boolean;
  @ApiProperty({ type: () => LedgerFindingResponse, isArray: true }) findings!: LedgerFindingResponse[];
}

export class AlertResponse {
  @ApiProperty({ type: 'string', example: 'SluiceJobsWaitLong' }) name!: string;
  @ApiProperty({ type: 'string', enum: ['critical', 'warning'] }) severity!: string;
  @ApiProperty({
    type: 'string',
    enum: ['pending', 'firing'],
    description: 'Pending: its condition holds, but not for long enough yet.',
  })
  state!: string;

  @ApiProperty({ type: 'string', example: 'The oldest job of chat.stories-15m has waited for 150 s.' })
  summary!: string;

  @ApiProperty({ type: 'string', format: 'date-time', description: 'Since when its condition is known to hold.' })
  since!: string;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'How long it must hold, in seconds.' })
  forSeconds!: number;

  @ApiProperty({ type: 'string', example: 'docs/runbooks/jobs-wait-long.md' }) runbook!: string;
  @ApiProperty({ type: 'string', nullable: true, description: 'Its address, with `SLUICE_DOCS_URL`.' })
  runbookUrl!: string | null;
}

export class AlertsResponse {
  @ApiProperty({ type: () => AlertResponse, isArray: true, description: 'Those whose condition holds now.' })
  data!: AlertResponse[];

  @ApiProperty({
    type: 'string',
    isArray: true,
    description: 'The alerts that an api judges. The others need Prometheus.',
  })
  judged!: string[];

  @ApiProperty({ type: 'string', isArray: true, description: 'Judged alerts whose figures could not be read now.' })
  unknown!: string[];
}

export class HealthResponse {
  @ApiProperty({ type: 'string', description: 'Of the replica that answered.' }) version!: string;
  @ApiProperty({ type: () => DependencyResponse, isArray: true }) dependencies!: DependencyResponse[];
  @ApiProperty({ type: () => LedgerHealthResponse, nullable: true, description: 'Null: ops has not verified it yet.' })
  ledger!: LedgerHealthResponse | null;

  @ApiProperty({ type: () => AlertsResponse }) alerts!: AlertsResponse;
}
