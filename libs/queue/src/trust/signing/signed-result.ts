import { createHmac, timingSafeEqual } from 'node:crypto';
import type { JobResult } from '../../contract/transport.js';
import type { ResultTicket } from '../../contract/result-ticket.js';

/** Returns the result with its proof; unchanged without a ticket. */
export function signResult(result: JobResult, ticket: ResultTicket | undefined): JobResult {
  if (ticket === undefined) return result;
  const { keyId, bounds, secret } = ticket;
  return { ...result, proof: { keyId, bounds, signature: signatureOf(result, secret).toString('base64') } };
}

/** Whether the holder of a ticket with this secret reported exactly this result. */
export function isSignedWith(secret: string, result: JobResult): boolean {
  const given = Buffer.from(result.proof?.signature ?? '', 'base64');
  const expected = signatureOf(result, secret);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function signatureOf({ proof: _proof, ...signed }: JobResult, secret: string): Buffer {
  return createHmac('sha256', secret).update(canonicalJson(signed)).digest();
}

/** JSON with sorted members: stores may order them as they like. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : member,
  );
}
