import { inBatches } from '#common';
import type { Sweep } from '../recovery/sweep.js';
import type { ExchangeSignaturesRepository } from './exchange-signatures.repository.js';

const batch = 1_000;

/** Deletes signatures when their time is over. */
export class DeleteExpiredSignaturesSweep implements Sweep {
  readonly name = 'delete-expired-signatures';

  constructor(private readonly repository: Pick<ExchangeSignaturesRepository, 'deleteExpired'>) {}

  run(): Promise<number> {
    return inBatches(batch, (max) => this.repository.deleteExpired(max));
  }
}
