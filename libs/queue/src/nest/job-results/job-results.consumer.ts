import { InjectQueue, OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Job, Queue, Worker } from 'bullmq';
import { Logger } from '#platform/logging';
import { JobResultHandler } from '../../jobs/job-result-handler.js';
import {
  handleBatch,
  type JobResultBatch,
  jobResultQueueName,
  jobResultWorkerOptions,
} from '../../jobs/job-result-queue.js';

/** Hands each result of a batch to the handler; the batch is retried with those that it rejected. */
@Processor(jobResultQueueName, jobResultWorkerOptions())
export class JobResultsConsumer extends WorkerHost<Worker> implements OnModuleInit, OnModuleDestroy {
  constructor(
    private readonly handler: JobResultHandler,
    private readonly logger: Logger,
    @InjectQueue(jobResultQueueName) private readonly queue: Queue,
  ) {
    super();
  }

  async onModuleInit(): Promise<void> {
    await this.queue.waitUntilReady();
  }

  process(job: Job<JobResultBatch, void>): Promise<void> {
    return handleBatch(job, (result) => this.handler.process(result));
  }

  @OnWorkerEvent('error')
  report(error: Error): void {
    this.logger.warn({ error }, `Worker of ${jobResultQueueName} reported an error.`);
  }

  /** Before the transport closes its connections, which the batches under way still need. */
  async onModuleDestroy(): Promise<void> {
    await this.worker.close();
  }
}
