import { inBatches } from '#common';
import type { Sweep } from '../recovery/sweep.js';
import type { IdempotencyRepository } from './idempotency.repository.js';

/** Rows of a statement, which must end within its limit of time: an answer may have 16 MB. And statements of one run. */
const batch = 20;
const maxBatches = 250;

/** Deletes idempotency keys, and the answers kept with them, when their day is over. */
export class DeleteStoredResponsesSweep implements Sweep {
  readonly name = 'forget-answers';

  constructor(private readonly repository: IdempotencyRepository) {}

  async run(): Promise<number> {
    return inBatches(batch, (max) => this.repository.deleteExpired(max), maxBatches);
  }
}
