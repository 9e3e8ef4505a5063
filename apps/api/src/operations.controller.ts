import { Controller, Get, Inject, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Readiness } from '#platform/health';
import { Metrics } from '#platform/metrics';

/** Routes of the health server on the public port, outside the base path and without a key: `SLUICE_API_PUBLIC_HEALTH`. */
@Controller()
@ApiExcludeController()
export class OperationsController {
  constructor(
    @Inject(Readiness) private readonly readiness: Readiness,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {}

  @Get('health/live')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('health/ready')
  async ready(@Res() reply: FastifyReply): Promise<void> {
    const report = await this.readiness.report();
    void reply.status(report.status === 'ok' ? 200 : 503).send(report);
  }

  @Get('health/dependencies')
  async dependencies(@Res() reply: FastifyReply): Promise<void> {
    const report = await this.readiness.dependencies();
    void reply.status(report.status === 'ok' ? 200 : 503).send(report);
  }

  @Get('metrics')
  async scrape(@Res() reply: FastifyReply): Promise<void> {
    const text = await this.metrics.render();
    void reply.header('content-type', this.metrics.contentType).send(text);
  }
}
