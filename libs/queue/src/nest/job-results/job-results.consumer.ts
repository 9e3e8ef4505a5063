import { InjectQueue, OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { Job, Queue, Worker } from 'bullmq';
import { Logger } from '#platform/logging';
import { JobResultHandler } from '../../contract/job-result-handler.js';
import { handleBatch, type JobResultBatch, jobResultWorkerOptions } from '../../jobs/job-result-queue.js';
import { jobResultQueueName } from '../../contract/job-definition.js';

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

  /** Closes before the transport does, whose connections the batches in progress still need. */
  async onModuleDestroy(): Promise<void> {
    await this.worker.close();
  }
}
