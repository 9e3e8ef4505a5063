import { createHmac, timingSafeEqual } from 'node:crypto';
import type { JobResult } from '../../contract/transport.js';
import type { ResultTicket } from '../../contract/result-ticket.js';

/** Returns the result with its proof; unchanged without a ticket. */
export function signResult(result: JobResult, ticket: ResultTicket | undefined): JobResult {
  if (ticket === undefined) return result;
  const { keyId, bounds, secret } = ticket;
  return { ...result, proof: { keyId, bounds, signature: signatureOf(result, secret).toString('base64') } };
}

/** Returns true when the holder of a ticket with this secret reported exactly this result. */
export function isSignedWith(secret: string, result: JobResult): boolean {
  const signature = Buffer.from(result.proof?.signature ?? '', 'base64');
  const expected = signatureOf(result, secret);
  return signature.length === expected.length && timingSafeEqual(signature, expected);
}

function signatureOf({ proof: _proof, ...signed }: JobResult, secret: string): Buffer {
  return createHmac('sha256', secret).update(canonicalJson(signed)).digest();
}

/** Returns JSON with sorted members, because stores may change their order. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : member,
  );
}
