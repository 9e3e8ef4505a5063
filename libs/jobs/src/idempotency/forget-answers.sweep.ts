import { inBatches } from '#common';
import type { Sweep } from '../sweeps/sweep.js';
import type { IdempotencyRepository } from './idempotency.repository.js';

/** Rows of a statement, which must end within its limit of time: an answer may have 16 MB. And statements of one run. */
const batch = 20;
const mostBatches = 250;

/** Deletes idempotency keys, and the answers kept with them, when their day is over. */
export class ForgetAnswersSweep implements Sweep {
  readonly name = 'forget-answers';

  constructor(private readonly repository: IdempotencyRepository) {}

  async run(): Promise<number> {
    return inBatches(batch, (most) => this.repository.deleteExpired(most), mostBatches);
  }
}
