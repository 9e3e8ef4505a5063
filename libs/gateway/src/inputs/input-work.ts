import type { NanoUsd } from '#common';

/** A job that turns a stored and checked input into text. Nothing was charged yet. */
export interface InputWork<Result> {
  /** A hash in hex, the same for the same content. */
  contentHash: string;
  /** Worst-case price. */
  amountNano: NanoUsd;
  /** Applies the limits of the model. Rejects as `ModelRequest.limit` does. */
  limit(): Promise<void>;
  /**
   * Runs the job, after `limit`. `reservedNano` is reserved, at least `amountNano`, and only the job is charged. Rejects
   * as `LimitedModelRequest.start` and `StartedJob.follow` do, with an error that names the field for a damaged input
   * and with `INFERENCE_FAILED` if the model fails.
   */
  run(reservedNano: NanoUsd): Promise<Result>;
}
