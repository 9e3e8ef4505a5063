import { inBatches } from '../sweeps/in-batches.js';
import type { Sweep } from '../sweeps/sweep.js';
import type { IdempotencyRepository } from './idempotency.repository.js';

const batch = 500;

/** Deletes idempotency keys, and the answers kept with them, when their day is over. */
export class ForgetAnswersSweep implements Sweep {
  readonly name = 'forget-answers';

  constructor(private readonly repository: IdempotencyRepository) {}

  async run(): Promise<number> {
    return inBatches(batch, (most) => this.repository.deleteExpired(most));
  }
}
