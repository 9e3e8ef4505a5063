import type { Logger } from '#platform/logging';
import type { JobDefinition, JobProducer } from '#queue';
import type { AccountTurns } from '../admission/account-turns.js';
import type { PayloadCipher } from '../admission/payload-cipher.js';
import type { StoredRequest } from '../admission/stored-request.js';
import type { JobsRepository, OpenJob } from '../lifecycle/jobs.repository.js';
import type { ResultTickets } from '../tickets/result-tickets.js';

export interface JobRequeuerOptions {
  jobs: JobsRepository;
  producer: JobProducer;
  cipher: PayloadCipher;
  tickets: ResultTickets;
  /** Default: jobs of a model run in the order of their arrival. */
  turns?: AccountTurns;
  /** Every kind of job, by modality. */
  definitions: ReadonlyMap<string, JobDefinition<object, object>>;
  logger: Logger;
}

/**
 * Enqueues rows that the queue has lost as a new attempt, from the encrypted payload, before their deadline. The attempt's
 * compare-and-set lets one process win, and fences out results of the lost attempt.
 */
export class JobRequeuer {
  constructor(private readonly options: JobRequeuerOptions) {}

  /** False when the row has changed since, its deadline has passed, or its kind is unknown. */
  async requeue(job: OpenJob): Promise<boolean> {
    const { jobs, producer, cipher, tickets, turns, definitions, logger } = this.options;
    const { requestId, modality, modelId, replyTo, stream, deadlineAtMs } = job;
    const definition = definitions.get(modality);
    if (!definition) {
      logger.error({ requestId, modality }, 'a lost job is of a kind this version does not know');
      return false;
    }
    const ciphertext = await jobs.startNextAttempt(job);
    if (ciphertext === null) return false;
    const attempt = job.attempt + 1;
    const { payload, bounds, onlyWorkerId } = cipher.decrypt(requestId, ciphertext) as StoredRequest;
    const ticket = tickets.issue({ requestId, attempt, modality, modelId }, bounds);
    const envelope = { requestId, modality, modelId, attempt, deadlineAtMs, replyTo, stream };
    const turn = turns?.turnOf(job);
    // The job comes before what its account has sent since.
    const options = { turn: turn && { ...turn, isRecovered: true }, onlyWorkerId };
    await producer.enqueue(definition, { ...envelope, ticket, payload }, options);
    logger.warn({ requestId, modelId, attempt }, 'the queue had lost a job, it was enqueued again');
    return true;
  }
}
