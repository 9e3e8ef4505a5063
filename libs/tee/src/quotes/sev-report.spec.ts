import { readFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeSevMachine } from '#test/tee-machines';
import { readCertificateTable, readPemCertificates } from './sev-certificates.js';
import { parseSevReport } from './sev-report.js';
import { type SevCertificates, verifySevReport } from './verify-sev-report.js';

const file = new URL('../__fixtures__/sev-report-milan.json', import.meta.url);
const sample = JSON.parse(readFileSync(file, 'utf8')) as Record<'report' | 'chip' | 'intermediate' | 'root', string>;
const bytes = Buffer.from(sample.report, 'base64');
const [chip, intermediate, root] = (['chip', 'intermediate', 'root'] as const).map(
  (name) => new X509Certificate(Buffer.from(sample[name], 'base64')),
) as [X509Certificate, X509Certificate, X509Certificate];
const chain = [chip, intermediate, root];
const nowMs = Date.parse('2026-10-10T00:00:00Z');
const everythingHolds = { signatureValid: true, certificateChainValid: true, chipMatch: true };

function check(report: Uint8Array, certificates: SevCertificates = { chain }, atMs = nowMs) {
  return verifySevReport(parseSevReport(report)!, certificates, atMs);
}

function changedAt(at: number, mask = 1): Uint8Array {
  const changed = Uint8Array.from(bytes);
  changed[at]! ^= mask;
  return changed;
}

describe('an SEV-SNP report of a real machine', () => {
  it('is read', () => {
    const report = parseSevReport(bytes)!;
    expect(report).toMatchObject({ version: 2, isDebug: true, firmware: [2, 0, 5, 68], signedBy: 'chip' });
    expect(report.measurement).toMatch(/^b07af962/);
    expect(Buffer.from(report.reportData).toString('hex')).toBe('0102030405'.padEnd(128, '0'));
    expect(parseSevReport(changedAt(10, 8))!.isDebug).toBe(false);
  });

  it('holds, in whatever order its certificates come, up to the root of its maker', () => {
    expect(check(bytes)).toEqual(everythingHolds);
    expect(check(bytes, { chain: chain.toReversed() })).toEqual(everythingHolds);
    expect(check(bytes, { chain: [chip, intermediate], roots: [root] })).toEqual(everythingHolds);
  });

  it('leads to no root without its intermediate, outside of its dates, or where another root is trusted', () => {
    const broken = { ...everythingHolds, certificateChainValid: false };
    const other = makeSevMachine();
    expect(check(bytes, { chain: [chip, root] })).toEqual(broken);
    expect(check(bytes, { chain: [chip] })).toEqual(broken);
    expect(check(bytes, { chain, roots: readPemCertificates(other.rootPem) })).toEqual(broken);
    for (const date of ['2019-01-01', '2031-01-01']) expect(check(bytes, { chain }, Date.parse(date))).toEqual(broken);
  });

  it.each([
    ['its report data', 0x50],
    ['its policy', 10],
    ['its measurement', 0x90],
  ])('is not signed with one changed bit in %s', (_, at) => {
    expect(check(changedAt(at))).toEqual({ ...everythingHolds, signatureValid: false });
  });

  it.each([
    ['another chip', 0x1a0],
    ['another boot loader', 0x180],
    ['other microcode', 0x187],
    ['the key of an operator', 0x48],
  ])('is not of its certificate if it names %s', (_, at) => {
    expect(check(changedAt(at, at === 0x48 ? 4 : 1)).chipMatch).toBe(false);
  });

  it('holds with no certificate of another machine', () => {
    const other = readPemCertificates(makeSevMachine().chipPem);
    expect(check(bytes, { chain: [...other, intermediate, root] }).signatureValid).toBe(false);
    expect(check(bytes, { chain: [] })).toEqual({
      signatureValid: false,
      certificateChainValid: false,
      chipMatch: false,
    });
  });

  it('has one length and a known version', () => {
    expect(parseSevReport(bytes.subarray(1))).toBeNull();
    expect(parseSevReport(new Uint8Array(1_184))).toBeNull();
  });
});

describe('the certificates that come with a report', () => {
  it('never throw, whatever they are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (table) => {
        const certificates = readCertificateTable(table);
        check(bytes, { chain: certificates });
      }),
      { numRuns: 300 },
    );
  });

  it('are read from PEM, and nothing else is', () => {
    expect(readPemCertificates(chain.map(String).join('\n'))).toHaveLength(3);
    expect(readPemCertificates('no certificate')).toEqual([]);
    expect(() => readPemCertificates('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----')).toThrow();
  });
});
