import { inBatches } from '#common';
import type { Sweep } from '../recovery/sweep.js';
import type { ResponseStatesRepository } from './response-states.repository.js';

/** Rows per statement, which must finish within its timeout, and statements per run. */
const batch = 50;
const maxBatches = 250;

/** Deletes stored responses when their time is over. */
export class DeleteExpiredResponsesSweep implements Sweep {
  readonly name = 'delete-expired-responses';

  constructor(private readonly repository: Pick<ResponseStatesRepository, 'deleteExpired'>) {}

  async run(): Promise<number> {
    return inBatches(batch, (max) => this.repository.deleteExpired(max), maxBatches);
  }
}
