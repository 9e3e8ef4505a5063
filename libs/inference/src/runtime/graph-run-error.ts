import { PlatformError } from '#common';
import { plainReason } from './plain-reason.js';

/** A run that failed: nothing about it for clients, and the text of the runtime for the operator. */
export class GraphRunError extends PlatformError {
  constructor(
    /** The provider that ran the graph. */
    readonly provider: string,
    cause: unknown,
  ) {
    const options = { cause, reason: plainReason(cause) };
    super('INFERENCE_FAILED', 'The service failed to answer this request.', null, options);
  }
}
