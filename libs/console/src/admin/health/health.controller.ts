import { Controller, Get } from '@nestjs/common';
import { LedgerService } from '#billing';
import { type ReadinessReport, Readiness, serviceVersion } from '#platform/health';
import { ApiConfig } from '#platform/config';
import { Access, ApiRoute, type DocumentedRoute } from '#platform/http';
import { adminErrors, adminRoute } from '../admin.document.js';
import { AlertsService } from './alerts.service.js';
import { presentAlerts } from './alerts.presenter.js';
import { type DependencyResponse, HealthResponse, type LedgerHealthResponse } from './health.response.js';

const document: DocumentedRoute = {
  ...adminRoute,
  operationId: 'getAdminHealth',
  summary: 'Show dependencies, the latest verification of the ledger, and alerts',
  description: 'For operators. Alerts are those whose figures an api has; Prometheus judges all.',
  responses: { 200: { json: HealthResponse } },
  errors: adminErrors,
};

@Controller('health')
export class AdminHealthController {
  private readonly version = serviceVersion();

  constructor(
    private readonly readiness: Readiness,
    private readonly ledger: LedgerService,
    private readonly alerts: AlertsService,
    private readonly config: ApiConfig,
  ) {}

  @Get()
  @Access('operator', { shared: true })
  @ApiRoute(document)
  async health(): Promise<HealthResponse> {
    const report = await this.readiness.dependencies();
    // Without the database there is no verification to show, and the dependencies say why.
    const ledger = report.checks['database'] === 'ok' ? await this.ledgerHealth() : null;
    const alerts = presentAlerts(await this.alerts.report(report), this.config.docsUrl);
    return { version: this.version, dependencies: dependenciesOf(report), ledger, alerts };
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
