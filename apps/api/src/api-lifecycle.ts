import { randomUUID } from 'node:crypto';
import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Drain } from '#gateway';
import { ApiConfig } from '#platform/config';
import { Readiness } from '#platform/health';
import { IdleCollector } from '#platform/memory';
import { QueueTransport } from '#queue';

/**
 * Joins the cluster at the start, and drains at the end: first it is not ready, then new requests get 503 while open ones
 * end, so that whoever routes them can go elsewhere before the port closes. Nest closes the server after
 * `onModuleDestroy`, and the stores after the server.
 */
@Injectable()
export class ApiLifecycle implements OnModuleInit, OnModuleDestroy {
  private readonly collector = new IdleCollector();

  constructor(
    private readonly config: ApiConfig,
    private readonly transport: QueueTransport,
    private readonly readiness: Readiness,
    private readonly drain: Drain,
  ) {}

  async onModuleInit(): Promise<void> {
    const { replies, membership } = this.transport;
    await replies.start();
    const processId = randomUUID();
    const replyAddress = replies.address;
    // Workers cancel the jobs of a replica that falls silent.
    await membership.join(() => ({ processId, role: 'api', replyAddress, models: [] }));
    this.collector.start();
  }

  async onModuleDestroy(): Promise<void> {
    this.collector.stop();
    this.readiness.drain();
    await this.drain.drain(this.config.shutdownGraceMs);
  }
}
