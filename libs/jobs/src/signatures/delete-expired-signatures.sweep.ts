import { inBatches } from '#common';
import { Injectable } from '#platform/injection';
import type { Sweep } from '../recovery/sweep.js';
import { ExchangeSignaturesRepository } from './exchange-signatures.repository.js';

const batch = 1_000;

/** Deletes signatures when their time is over. */
@Injectable()
export class DeleteExpiredSignaturesSweep implements Sweep {
  readonly name = 'delete-expired-signatures';

  constructor(private readonly repository: ExchangeSignaturesRepository) {}

  run(): Promise<number> {
    return inBatches(batch, (max) => this.repository.deleteExpired(max));
  }
}
