import { ApiConfig } from '#platform/config';
import { Inject, Injectable } from '#platform/injection';
import { Tracing } from '#platform/tracing';
import { QueueTransport } from '#queue';
import type { AdmittedJob } from '../lifecycle/job-states.js';
import { ResultTickets } from '../tickets/result-tickets.js';
import { AccountTurns } from './account-turns.js';
import type { PreparedJob } from './job-preparation.js';
import type { OpenRequest } from './open-request.js';
import { QueueLimit, type QueuePosition } from './queue-limit.js';
import { routeKeyOf } from './route-key.js';
import { throwUnavailable } from './service-unavailable.js';
import { ThroughputMeter } from './throughput-meter.js';

/** Takes positions in the queue of a model, and enqueues admitted jobs. */
@Injectable()
export class JobEnqueuer {
  private readonly limit: QueueLimit;

  constructor(
    private readonly transport: QueueTransport,
    private readonly tickets: ResultTickets,
    @Inject(AccountTurns) private readonly turns: Pick<AccountTurns, 'turnOf'>,
    @Inject(ThroughputMeter) meter: Pick<ThroughputMeter, 'rateOf'>,
    private readonly tracing: Tracing,
    @Inject(ApiConfig) private readonly config: Pick<ApiConfig, 'queueLimit' | 'maxWaitMs'>,
  ) {
    const { producer } = transport;
    this.limit = new QueueLimit({ producer, limit: config.queueLimit, rateOf: (modelId) => meter.rateOf(modelId) });
  }

  /** Rejects with `MODEL_AT_CAPACITY` when the queue is full, and with `SERVICE_UNAVAILABLE` when it cannot be read. */
  async takePosition(request: OpenRequest): Promise<QueuePosition> {
    const { definition, modelId, caller, replyTo, deadlineMs } = request;
    const { modality, policy } = definition;
    const turn = this.turns.turnOf(caller);
    // Nobody waits for an async job.
    const maxWaitMs =
      replyTo === null ? undefined : Math.min(this.config.maxWaitMs, (deadlineMs ?? policy.deadlineMs) / 2);
    try {
      this.transport.producer.requireRoom();
      return await this.limit.take({ modality, modelId, turn, maxWaitMs });
    } catch (error) {
      return throwUnavailable(error);
    }
  }

  async enqueue(request: OpenRequest, job: AdmittedJob & PreparedJob): Promise<void> {
    const { definition, bounds, replyTo, stream, affinity, onlyWorkerId } = request;
    const { requestId, modality, modelId, deadlineAtMs, payload } = job;
    const trace = this.tracing.parentFor(requestId);
    const envelope = {
      requestId,
      modality,
      modelId,
      attempt: 1,
      deadlineAtMs,
      replyTo,
      stream,
      ...(trace !== undefined && { trace }),
      ticket: this.tickets.issue({ requestId, attempt: 1, modality, modelId }, bounds),
      payload,
    };
    const routeKey = affinity === undefined ? undefined : () => routeKeyOf(affinity());
    const turn = this.turns.turnOf(request.caller);
    await this.transport.producer.enqueue(definition, envelope, { routeKey, turn, onlyWorkerId });
  }
}
