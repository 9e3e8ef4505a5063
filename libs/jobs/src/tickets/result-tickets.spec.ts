import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noTokens } from '#common';
import type { JobResult } from '#queue';
import { signResult } from '#queue/signing';
import { ResultTickets } from './result-tickets.js';

const [older, newer] = ['ab'.repeat(32), 'cd'.repeat(32)] as const;
const tickets = new ResultTickets(older);
const bounds = { ...noTokens, completionTokens: 10 };
const result: JobResult = {
  requestId: 'r',
  attempt: 1,
  modality: 'chat',
  modelId: 'm',
  retries: 0,
  status: 'succeeded',
  error: null,
  usage: { ...noTokens, completionTokens: 3, units: { images: 1.5 } },
  executionMs: 1,
  finishedAtMs: 0,
};
const signed = signResult(result, tickets.issue(result, bounds));

/** The result as returned by a store that sorts members. */
function reversed<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, reversed(member)]),
  ) as Value;
}

describe('ResultTickets', () => {
  it('accepts the result of exactly the job of the ticket, whatever the store did to it', () => {
    expect(tickets.faultOf(signed)).toBeNull();
    expect(tickets.faultOf(reversed(JSON.parse(JSON.stringify(signed)) as JobResult))).toBeNull();
  });

  it.each<[string, Partial<JobResult>]>([
    ['another request', { requestId: 'r2' }],
    ['another attempt', { attempt: 2 }],
    ['another model', { modelId: 'm2' }],
    ['another modality', { modality: 'image' }],
    ['other usage', { usage: { ...noTokens, completionTokens: 4 } }],
    ['another end', { status: 'failed' }],
    ['other artifacts', { artifacts: ['a'] }],
  ])('refuses %s with the proof of a result that was read', (_name, changes) => {
    expect(tickets.faultOf({ ...signed, ...changes })).toBe('forged');
  });

  it('refuses wider bounds than those of the ticket', () => {
    const ticket = tickets.issue(result, bounds);
    const wider = signResult(result, { ...ticket, bounds: { ...bounds, completionTokens: 1e9 } });
    expect(tickets.faultOf(wider)).toBe('forged');
  });

  it('refuses a ticket for another job, and results without any', () => {
    expect(tickets.faultOf(signResult(result, tickets.issue({ ...result, requestId: 'r2' }, bounds)))).toBe('forged');
    expect(tickets.faultOf(result)).toBe('unsigned');
  });

  it('shows nothing in a result that would sign another one', () => {
    const { secret } = tickets.issue(result, bounds);
    expect(JSON.stringify(signed)).not.toContain(secret);
    expect(tickets.faultOf(signResult(result, { ...tickets.issue(result, bounds), secret: 'guessed' }))).toBe('forged');
  });

  it('keeps tickets valid while the secret key is changed, process after process', () => {
    const during = new ResultTickets([newer, older]);
    expect(during.faultOf(signed)).toBeNull();
    const ofNewer = signResult(result, during.issue(result, bounds));
    expect(new ResultTickets([older, newer]).faultOf(ofNewer)).toBeNull();
    expect(tickets.faultOf(ofNewer)).toBe('unknown-key');
  });

  it('answers any signature, of any length, with a fault', () => {
    fc.assert(
      fc.property(fc.string(), (signature) => {
        const proof = { keyId: signed.proof?.keyId ?? '', bounds, signature };
        expect(tickets.faultOf({ ...result, proof })).toBe('forged');
      }),
    );
  });
});
