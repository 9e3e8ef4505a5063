import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTdxQuote } from './tdx-quote.js';
import { verifyTdxQuote } from './verify-tdx-quote.js';

/** Quotes of real machines, as published with a verifier. */
function sample(name: string): Uint8Array {
  const file = new URL(`../__fixtures__/quote-${name}.json`, import.meta.url);
  const { quote } = JSON.parse(readFileSync(file, 'utf8')) as { quote: string };
  return Buffer.from(quote, 'base64');
}

const samples = ['up-to-date', 'out-of-date', 'version-5'];
const everythingHolds = { signatureValid: true, attestationKeyMatch: true, certificateChainValid: true };
const nowMs = Date.parse('2026-10-10T00:00:00Z');

describe('a TDX quote of a real machine', () => {
  it.each(samples)('is read and its signatures hold: %s', (name) => {
    const quote = parseTdxQuote(sample(name))!;
    expect(quote.isDebug).toBe(false);
    expect(quote.reportData).toHaveLength(64);
    expect(quote.mrTd).toMatch(/^(?!0+$)[0-9a-f]{96}$/);
    expect(quote.rtMr).toHaveLength(4);
    expect(verifyTdxQuote(quote, nowMs)).toEqual(everythingHolds);
  });

  it('does not hold outside of the dates of its certificates', () => {
    const quote = parseTdxQuote(sample('up-to-date'))!;
    for (const date of ['1999-01-01', '2099-01-01']) {
      expect(verifyTdxQuote(quote, Date.parse(date))).toEqual({ ...everythingHolds, certificateChainValid: false });
    }
  });

  it('shows the debug attribute, and does not hold once it is changed', () => {
    const bytes = Uint8Array.from(sample('up-to-date'));
    bytes[48 + 120]! |= 1;
    const quote = parseTdxQuote(bytes)!;
    expect(quote.isDebug).toBe(true);
    expect(verifyTdxQuote(quote, nowMs).signatureValid).toBe(false);
  });

  it.each([
    ['its report data', 48 + 520, 'signatureValid'],
    ['the attestation key', 48 + 584 + 4 + 64, 'attestationKeyMatch'],
    ['the report of the quoting enclave', 48 + 584 + 4 + 128 + 6 + 10, 'attestationKeyMatch'],
  ] as const)('does not hold with one changed byte in %s', (_, at, part) => {
    const bytes = Uint8Array.from(sample('up-to-date'));
    bytes[at]! ^= 1;
    expect(verifyTdxQuote(parseTdxQuote(bytes)!, nowMs)[part]).toBe(false);
  });

  it('never throws for cut or changed bytes', () => {
    const bytes = sample('up-to-date');
    fc.assert(
      fc.property(fc.nat(bytes.length), fc.nat(bytes.length - 1), fc.nat(255), (length, at, value) => {
        const changed = Uint8Array.from(bytes.subarray(0, length));
        if (at < length) changed[at] = value;
        const quote = parseTdxQuote(changed);
        if (quote !== null) verifyTdxQuote(quote, nowMs);
      }),
      { numRuns: 300 },
    );
  });

  it('is not every text of bytes', () => {
    for (const length of [0, 47, 48, 632, 5_000]) expect(parseTdxQuote(new Uint8Array(length))).toBeNull();
  });
});
