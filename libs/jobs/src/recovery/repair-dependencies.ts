import { Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { type JobProducer, QueueTransport } from '#queue';
import { AccountTurns } from '../admission/account-turns.js';
import { PayloadCipher } from '../admission/payload-cipher.js';
import { JobCatalog } from '../lifecycle/job-catalog.js';
import { JobCloser } from '../lifecycle/job-closer.js';
import { JobsRepository } from '../lifecycle/jobs.repository.js';
import { ResultTickets } from '../tickets/result-tickets.js';
import { ResultBacklog } from './result-backlog.js';

/** What the sweeps that enqueue lost jobs again, or close them, have in common. */
@Injectable()
export class RepairDependencies {
  readonly producer: JobProducer;
  readonly definitions: JobCatalog['definitions'];

  constructor(
    readonly jobs: JobsRepository,
    readonly closer: JobCloser,
    readonly cipher: PayloadCipher,
    readonly tickets: ResultTickets,
    readonly turns: AccountTurns,
    readonly transport: QueueTransport,
    readonly logger: Logger,
    private readonly backlog: ResultBacklog,
    catalog: JobCatalog,
  ) {
    this.producer = transport.producer;
    this.definitions = catalog.definitions;
  }

  readonly resultBacklog = (): Promise<boolean> => this.backlog.flows();
}
