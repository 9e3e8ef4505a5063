import { inBatches } from '#common';
import { Injectable } from '#platform/injection';
import type { Sweep } from '../recovery/sweep.js';
import { IdempotencyRepository } from './idempotency.repository.js';

/** Rows per statement, which must finish within its timeout (a response may have 16 MB), and statements per run. */
const batch = 20;
const maxBatches = 250;

/** Deletes idempotency keys, and the responses stored with them, after a day. */
@Injectable()
export class DeleteStoredResponsesSweep implements Sweep {
  readonly name = 'delete-stored-responses';

  constructor(private readonly repository: IdempotencyRepository) {}

  async run(): Promise<number> {
    return inBatches(batch, (max) => this.repository.deleteExpired(max), maxBatches);
  }
}
