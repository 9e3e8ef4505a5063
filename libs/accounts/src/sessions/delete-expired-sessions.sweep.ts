import { inBatches } from '#common';
import { Injectable } from '#platform/injection';
import { ConsoleSessionsRepository } from './console-sessions.repository.js';

const batchRows = 1_000;

/** Deletes sessions and one-time links of the console when their time is over. */
@Injectable()
export class DeleteExpiredSessionsSweep {
  readonly name = 'delete-expired-sessions';

  constructor(private readonly repository: ConsoleSessionsRepository) {}

  run(): Promise<number> {
    return inBatches(batchRows, (max) => this.repository.deleteExpired(max));
  }
}
