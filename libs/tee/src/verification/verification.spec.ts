import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createHostIdentity } from '../host-identity.js';
import { reportDataOf } from '../report-data.js';
import { signedText } from '../signed-text.js';
import { claimNames, type ClaimResult } from './claim.js';
import { openFirmwareCheck } from './firmware-status.js';
import { type AttestationResponse, verifyAttestation, type VerifyOptions } from './verify-attestation.js';
import { verifyExchange } from './verify-exchange.js';

interface Sample {
  quote: string;
  collateral: { tcb_info: string };
}

/** A quote of a real machine and the data of its maker, from the days when it was made. */
function sample(name: string): Sample & { nowMs: number } {
  const file = new URL(`../__fixtures__/quote-${name}.json`, import.meta.url);
  const read = JSON.parse(readFileSync(file, 'utf8')) as Sample;
  const { issueDate } = JSON.parse(read.collateral.tcb_info) as { issueDate: string };
  return { ...read, nowMs: Date.parse(issueDate) + 86_400_000 };
}

const identity = createHostIdentity();
const nonce = '5c'.repeat(32);
const own = { signing_key: identity.publicKey, signing_address: identity.address };
const { quote: realQuote, nowMs } = sample('up-to-date');

/** A real quote with other report data: its signature does not hold. */
function quoteAbout(change: (bytes: Buffer) => void): string {
  const bytes = Buffer.from(realQuote, 'base64');
  bytes.set(reportDataOf(identity.address, Buffer.from(nonce, 'hex')), 48 + 520);
  change(bytes);
  return bytes.toString('base64');
}

async function resultsOf(response: AttestationResponse, options: Partial<VerifyOptions> = {}) {
  const results = await verifyAttestation(response, { nonce, nowMs, ...options });
  return Object.fromEntries(results.map(({ claim, result }: ClaimResult) => [claim, result]));
}

describe('the verification of an attestation', () => {
  it('proves the hardware and the firmware of a real quote, and refutes a key and a nonce that it does not hold', async () => {
    const { quote, collateral, nowMs: then } = sample('up-to-date');
    const firmwareOf = await openFirmwareCheck({ collateral }, then);
    expect(await resultsOf({ ...own, intel_quote: quote }, { nowMs: then, firmwareOf })).toEqual({
      hardware: 'proven',
      firmware: 'proven',
      debugging: 'proven',
      software: 'unknown',
      key: 'false',
      nonce: 'false',
    });
  });

  it('refutes firmware that is not up to date, and names the status', async () => {
    const { quote, collateral, nowMs: then } = sample('out-of-date');
    const firmwareOf = await openFirmwareCheck({ collateral }, then);
    const response = { ...own, intel_quote: quote };
    expect(await resultsOf(response, { nowMs: then, firmwareOf })).toMatchObject({ firmware: 'false' });
    for (const status of ['OutOfDate', 'SWHardeningNeeded', 'ConfigurationNeeded', 'Revoked', 'uptodate']) {
      const known = () => Promise.resolve({ status, advisories: ['ADVISORY-1'] });
      const [, firmware] = await verifyAttestation(response, { nonce, nowMs: then, firmwareOf: known });
      expect(firmware).toMatchObject({ claim: 'firmware', result: 'false' });
      expect(firmware?.detail).toContain(`${status} (ADVISORY-1)`);
    }
  });

  it('refutes the firmware where the data of the maker has expired or is of another machine', async () => {
    const { quote, collateral, nowMs: then } = sample('up-to-date');
    const expired = await openFirmwareCheck({ collateral }, then + 90 * 86_400_000);
    expect(await resultsOf({ ...own, intel_quote: quote }, { firmwareOf: expired })).toMatchObject({
      firmware: 'false',
    });
    const other = await openFirmwareCheck({ collateral: {} }, then);
    expect(await resultsOf({ ...own, intel_quote: quote }, { firmwareOf: other })).toMatchObject({ firmware: 'false' });
  });

  it.each([
    ['base64', (bytes: Buffer) => bytes.toString('base64')],
    ['base64url', (bytes: Buffer) => bytes.toString('base64url')],
    ['hex', (bytes: Buffer) => bytes.toString('hex')],
    ['hex with 0x', (bytes: Buffer) => `0x${bytes.toString('hex')}`],
  ])('reads quotes as %s', async (_, format) => {
    const text = format(Buffer.from(realQuote, 'base64'));
    expect(await resultsOf({ ...own, intel_quote: text })).toMatchObject({ hardware: 'proven', debugging: 'proven' });
  });

  it('proves the key and the nonce that the evidence holds, and refutes a signature that does not', async () => {
    const response = { ...own, intel_quote: quoteAbout(() => undefined) };
    expect(await resultsOf(response)).toMatchObject({ hardware: 'false', key: 'proven', nonce: 'proven' });
    expect(await resultsOf(response, { nonce: '5d'.repeat(32) })).toMatchObject({ key: 'proven', nonce: 'false' });
    const other = createHostIdentity();
    const stolen = { ...response, signing_key: other.publicKey, signing_address: other.address };
    expect(await resultsOf(stolen)).toMatchObject({ key: 'false', nonce: 'proven' });
    expect(await resultsOf({ ...response, signing_address: other.address })).toMatchObject({ key: 'false' });
    expect(await resultsOf({ ...response, signing_key: undefined })).toMatchObject({ key: 'false' });
  });

  it('refuses the debug mode', async () => {
    const response = { ...own, intel_quote: quoteAbout((bytes) => (bytes[48 + 120] = 1)) };
    const [, , debugging] = await verifyAttestation(response, { nonce, nowMs });
    expect(debugging).toMatchObject({ claim: 'debugging', result: 'false' });
    expect(debugging?.detail).toContain('TDX debug mode detected');
  });

  it('compares measurements where some are expected', async () => {
    const mrTd = Buffer.from(realQuote, 'base64')
      .subarray(48 + 136, 48 + 184)
      .toString('hex');
    const response = { ...own, intel_quote: realQuote };
    expect(await resultsOf(response, { measurements: [mrTd.toUpperCase()] })).toMatchObject({ software: 'proven' });
    expect(await resultsOf(response, { measurements: ['00'.repeat(48)] })).toMatchObject({ software: 'false' });
  });

  it('knows no signer of an SEV-SNP report that came without certificates', async () => {
    const report = Buffer.alloc(1_184);
    report[0] = 2;
    report.set(reportDataOf(identity.address, Buffer.from(nonce, 'hex')), 0x50);
    expect(await resultsOf({ ...own, sev_report: report.toString('base64') })).toEqual({
      hardware: 'unknown',
      firmware: 'unknown',
      debugging: 'proven',
      software: 'unknown',
      key: 'proven',
      nonce: 'proven',
    });
  });

  it('proves nothing of software', async () => {
    const results = await resultsOf({ ...own, tee_provider: 'software' });
    expect(Object.keys(results)).toEqual(claimNames.filter((name) => name !== 'exchange' && name !== 'receipt'));
    expect(new Set(Object.values(results))).toEqual(new Set(['unknown']));
  });

  it('never rejects, and never proves hardware, whatever comes', async () => {
    const anything = fc.record({
      intel_quote: fc.anything(),
      sev_report: fc.anything(),
      sev_certificates: fc.anything(),
      signing_key: fc.anything(),
      signing_address: fc.anything(),
    });
    await fc.assert(
      fc.asyncProperty(anything, async (response) => {
        expect((await resultsOf(response))['hardware']).not.toBe('proven');
      }),
      { numRuns: 300 },
    );
  });
});

describe('the verification of an exchange', () => {
  const requestBody = Buffer.from('{"model":"m"}');
  const responseBody = Buffer.from('data: [DONE]\n\n');
  const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  const exchange = { requestBody, responseBody, address: identity.address };
  const text = signedText({ requestHash: hashOf(requestBody), responseHash: hashOf(responseBody) });
  const signed = { text, signature: identity.sign(text) };

  it('proves what the attested key signed', () => {
    expect(verifyExchange(signed, exchange).result).toBe('proven');
  });

  it.each([
    ['another key', { ...signed, signature: createHostIdentity().sign(text) }, exchange],
    ['another request', signed, { ...exchange, requestBody: responseBody }],
    ['another response', signed, { ...exchange, responseBody: requestBody }],
    ['no signature', { text }, exchange],
    ['no text', { signature: signed.signature }, exchange],
    ['a text of another form', { text: '1:2', signature: identity.sign('1:2') }, exchange],
    ['a text with more', { text: `m:${text}`, signature: identity.sign(`m:${text}`) }, exchange],
  ])('refutes %s', (_, response, of) => {
    expect(verifyExchange(response, of).result).toBe('false');
  });
});
