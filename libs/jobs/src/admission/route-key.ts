import { createHash } from 'node:crypto';

/** What a request is routed by: says nothing of its text, and never the same of two accounts. */
export function routeKeyOf(accountId: string, affinity: string): string {
  return createHash('sha256').update(`${accountId}\0${affinity}`).digest('hex');
}
