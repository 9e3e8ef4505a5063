import { ReservationStep } from '#billing';
import { Injectable } from '#platform/injection';
import { IdempotencyService } from '../idempotency/idempotency.service.js';
import type { AdmissionStep } from '../lifecycle/job-states.js';

/** What admission does in the transaction of the row, in this order. */
@Injectable()
export class AdmissionSteps {
  readonly list: readonly AdmissionStep[];

  constructor(idempotency: IdempotencyService, reservation: ReservationStep) {
    // The fence of the idempotency key first: money comes last, because the accounts are locked from there on.
    this.list = [idempotency, reservation];
  }
}
