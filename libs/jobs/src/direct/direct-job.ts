import { defineJob, directModality } from '#queue';

/** A direct job stores nothing of its request. */
export class DirectJobPayload {}
export class DirectJobResult {}

/**
 * Work that an api replica does itself, without a queue: its row exists for the ledger. If the replica dies, the row
 * expires and its reservation is released.
 */
export const directJob = defineJob({
  modality: directModality,
  payload: DirectJobPayload,
  result: DirectJobResult,
  policy: { attempts: 1, lockMs: 75_000, deadlineMs: 75_000, stalledMax: 0, concurrency: 1 },
});
