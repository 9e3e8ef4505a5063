import { createHash } from 'node:crypto';

/** Returns the routing key of a request, which reveals nothing of its text. */
export function routeKeyOf(affinity: string): string {
  return createHash('sha256').update(affinity).digest('hex');
}
