import { createHash } from 'node:crypto';

/** Returns the routing key of a request: reveals nothing of its text, and never equals that of another account. */
export function routeKeyOf(accountId: string, affinity: string): string {
  return createHash('sha256').update(`${accountId}\0${affinity}`).digest('hex');
}
