import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { type ReadinessReport, Readiness } from '#platform/health';
import { Exchange, type HttpExchange } from '#platform/http';
import { Metrics } from '#platform/metrics';

/** Routes of the health server on the public port, outside the base path and without a key: `SLUICE_API_PUBLIC_HEALTH`. */
@Controller()
@ApiExcludeController()
export class OperationsController {
  constructor(
    private readonly readiness: Readiness,
    private readonly metrics: Metrics,
  ) {}

  @Get('health/live')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('health/ready')
  async ready(@Exchange() http: HttpExchange): Promise<ReadinessReport> {
    return respond(http, await this.readiness.report());
  }

  @Get('health/dependencies')
  async dependencies(@Exchange() http: HttpExchange): Promise<ReadinessReport> {
    return respond(http, await this.readiness.dependencies());
  }

  @Get('metrics')
  async scrape(@Exchange() http: HttpExchange): Promise<string> {
    http.setHeaders({ 'content-type': this.metrics.contentType });
    return await this.metrics.render();
  }
}

function respond(http: HttpExchange, report: ReadinessReport): ReadinessReport {
  void http.reply.status(report.status === 'ok' ? 200 : 503);
  return report;
}
