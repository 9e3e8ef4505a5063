import { randomBytes } from 'node:crypto';

/**
 * Creates a request id: 16 hex characters and the site code, `8f3a…c1-SLC`. It is the `CF-RAY` header, the job id and
 * the key of the job row. It contains no `:`, which BullMQ forbids.
 */
export function newRequestId(site: string): string {
  return `${randomBytes(8).toString('hex')}-${site}`;
}
