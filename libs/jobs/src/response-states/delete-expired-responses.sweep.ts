import { inBatches } from '#common';
import { Injectable } from '#platform/injection';
import type { Sweep } from '../recovery/sweep.js';
import { ResponseStatesRepository } from './response-states.repository.js';

/** Rows per statement, which must finish within its timeout, and statements per run. */
const batch = 50;
const maxBatches = 250;

/** Deletes stored responses when their time is over. */
@Injectable()
export class DeleteExpiredResponsesSweep implements Sweep {
  readonly name = 'delete-expired-responses';

  constructor(private readonly repository: ResponseStatesRepository) {}

  async run(): Promise<number> {
    return inBatches(batch, (max) => this.repository.deleteExpired(max), maxBatches);
  }
}
