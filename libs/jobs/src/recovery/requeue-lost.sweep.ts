import type { Clock } from '#common';
import type { StoredRequest } from '../admission/stored-request.js';
import type { Logger } from '#platform/logging';
import { directModality, type JobDefinition, type JobProducer } from '#queue';
import type { FoundJob, JobsRepository, OpenJob } from '../lifecycle/jobs.repository.js';
import type { AccountTurns } from '../admission/account-turns.js';
import type { PayloadCipher } from '../admission/payload-cipher.js';
import type { ResultTickets } from '../tickets/result-tickets.js';
import { groupsOf } from './group-rows.js';
import { LookDepth, pagesOf } from './paged-rows.js';
import { repairAll } from './repair-all.js';
import { SuspectTracker } from './suspect-tracker.js';
import { confirmLost } from './confirm-lost.js';
import type { Sweep } from './sweep.js';

export interface RequeueLostOptions {
  jobs: JobsRepository;
  producer: JobProducer;
  cipher: PayloadCipher;
  tickets: ResultTickets;
  /** As in `AdmissionOptions`. */
  turns?: AccountTurns;
  /** Every kind of job, by modality. */
  definitions: ReadonlyMap<string, JobDefinition<object, object>>;
  logger: Logger;
  /** Age at which a queued row is looked up in the queue. */
  lostAfterMs: number;
  /** How long it must be missing there. */
  confirmMs: number;
  /** True while results are being written; while they wait, an open row proves nothing. */
  resultBacklog: () => Promise<boolean>;
  /** Page size of a read; default: 500. */
  pageRows?: number;
  clock?: Clock;
}

const lookupsAtOnce = 20;

/**
 * Re-enqueues queued rows that the queue has lost (a flushed Redis, an enqueue that died halfway) as a new attempt,
 * from the encrypted payload, before their deadline. The attempt's compare-and-set lets one process win.
 */
export class RequeueLostSweep implements Sweep {
  readonly name = 'requeue-lost';
  private readonly suspects: SuspectTracker;
  private readonly depth: LookDepth;

  constructor(private readonly options: RequeueLostOptions) {
    this.suspects = new SuspectTracker(options.confirmMs, options.clock);
    this.depth = new LookDepth(options.clock);
  }

  async run(): Promise<number> {
    const { resultBacklog, logger } = this.options;
    const look = () => this.findMissing();
    const missing = await confirmLost(look, { resultBacklog, suspects: [this.suspects], asksAlways: true });
    const repair = (job: OpenJob) => this.requeue(job);
    return repairAll(this.suspects.confirmJobs(missing), { repair, logger });
  }

  private async findMissing(): Promise<OpenJob[]> {
    const { jobs, lostAfterMs, pageRows } = this.options;
    const pages = this.depth.pages(!this.suspects.isEmpty);
    const read = (rows: number, after: FoundJob | null) => jobs.findQueued(lostAfterMs, { rows, after });
    const missing: OpenJob[] = [];
    for await (const page of pagesOf(read, { pages, rows: pageRows })) {
      missing.push(...(await this.missingFromQueue(page)));
    }
    return missing;
  }

  private async missingFromQueue(candidates: OpenJob[]): Promise<OpenJob[]> {
    const missing: OpenJob[] = [];
    // Direct jobs never were in a queue; they end, or expire.
    const queued = candidates.filter(({ modality }) => modality !== directModality);
    for (const some of groupsOf(queued, lookupsAtOnce)) {
      const held = await Promise.all(
        some.map(({ modality, modelId, requestId }) => this.options.producer.holds(modality, modelId, requestId)),
      );
      missing.push(...some.filter((_job, index) => held[index] === false));
    }
    return missing;
  }

  private async requeue(job: OpenJob): Promise<boolean> {
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
    const { payload, bounds } = cipher.decrypt(requestId, ciphertext) as StoredRequest;
    const ticket = tickets.issue({ requestId, attempt, modality, modelId }, bounds);
    const envelope = { requestId, modality, modelId, attempt, deadlineAtMs, replyTo, stream };
    const turn = turns?.turnOf(job);
    // It comes before what its account has sent since.
    const options = { turn: turn && { ...turn, isRecovered: true } };
    await producer.enqueue(definition, { ...envelope, ticket, payload }, options);
    logger.warn({ requestId, modelId, attempt }, 'the queue had lost a job, it was enqueued again');
    return true;
  }
}
