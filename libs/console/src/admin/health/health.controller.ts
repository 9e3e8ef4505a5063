import { Controller, Get } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { LedgerService } from '#billing';
import { type ReadinessReport, Readiness, serviceVersion } from '#platform/health';
import { Access, ApiRoute, type DocumentedRoute } from '#platform/http';
import { adminErrors, adminRoute } from '../admin.document.js';

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

export class HealthResponse {
  @ApiProperty({ type: 'string', description: 'Of the replica that answered.' }) version!: string;
  @ApiProperty({ type: () => DependencyResponse, isArray: true }) dependencies!: DependencyResponse[];
  @ApiProperty({ type: () => LedgerHealthResponse, nullable: true, description: 'Null: ops has not verified it yet.' })
  ledger!: LedgerHealthResponse | null;
}

const document: DocumentedRoute = {
  ...adminRoute,
  operationId: 'getAdminHealth',
  summary: 'Show what the service depends on, and the latest verification of the ledger',
  description: 'For operators. The metrics and alerts of the service say more (docs/operate/operations.md).',
  responses: { 200: { json: HealthResponse } },
  errors: adminErrors,
};

@Controller('health')
export class AdminHealthController {
  private readonly version = serviceVersion();

  constructor(
    private readonly readiness: Readiness,
    private readonly ledger: LedgerService,
  ) {}

  @Get()
  @Access('operator')
  @ApiRoute(document)
  async health(): Promise<HealthResponse> {
    const report = await this.readiness.dependencies();
    // Without the database there is no verification to show, and the dependencies say why.
    const ledger = report.checks['database'] === 'ok' ? await this.ledgerHealth() : null;
    return { version: this.version, dependencies: dependenciesOf(report), ledger };
  }

  private async ledgerHealth(): Promise<LedgerHealthResponse | null> {
    const verification = await this.ledger.lastVerification();
    if (verification === null) return null;
    const { verifiedAt, tookMs, breaks } = verification;
    const findings = Object.entries(breaks).map(([check, count]) => ({ check, count }));
    const ok = findings.every(({ count }) => count === 0);
    return { verifiedAt: verifiedAt.toISOString(), tookMs, ok, findings };
  }
}

function dependenciesOf({ checks, reasons = {} }: ReadinessReport): DependencyResponse[] {
  return Object.entries(checks).map(([name, state]) => ({ name, ok: state === 'ok', detail: reasons[name] ?? null }));
}
