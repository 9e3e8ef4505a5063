import { randomBytes } from 'node:crypto';

/**
 * Creates a request id: 16 hex characters and the site code, `8f3a…c1-SLC`. It is the `CF-RAY` header, the job id and
 * the key of the job row. It contains no `:`, which BullMQ forbids.
 */
export function newRequestId(site: string): string {
  return `${randomBytes(8).toString('hex')}-${site}`;
}

/** Separates the id of a request from the position of one of its input jobs. */
const inputSeparator = '.';

/**
 * Returns the id of a job that turns an input of a request into text for the model of the request: `8f3a…c1-SLC.1` for
 * the first one. A job that classifies an input is `8f3a…c1-SLC.check1`.
 */
export function inputJobId(requestId: string, position: number | `check${number}`): string {
  return `${requestId}${inputSeparator}${position}`;
}

/** Returns the id of the request that a job belongs to: its own, or the one that it prepares or checks an input of. */
export function callerRequestId(jobId: string): string {
  return jobId.split(inputSeparator, 1)[0] ?? jobId;
}
