import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bareMachine, ConfigfsDouble } from '#test/tee-machines';
import { attestHost } from '../host-attestation.js';
import { createHostIdentity } from '../host-identity.js';
import { parseTdxQuote } from '../quotes/tdx-quote.js';
import { reportDataOf } from '../report-data.js';
import { EvidenceError } from './evidence.js';
import type { Machine } from './machine.js';
import { openEvidence } from './open-evidence.js';

const file = new URL('../__fixtures__/quote-up-to-date.json', import.meta.url);
const realQuote = Buffer.from((JSON.parse(readFileSync(file, 'utf8')) as { quote: string }).quote, 'base64');

/** The layout of a quote with other report data: its signature does not hold, which no reader of evidence looks at. */
function quoteAbout(reportData: Uint8Array): Uint8Array {
  const bytes = Uint8Array.from(realQuote);
  bytes.set(reportData, 48 + 520);
  return bytes;
}

function sevReportAbout(reportData: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(1_184);
  bytes[0] = 2;
  bytes.set(reportData, 0x50);
  return bytes;
}

const tdxDouble = (outblob: (inblob: Uint8Array) => Uint8Array, otherWrites = 0) =>
  new ConfigfsDouble({ provider: 'tdx_guest', outblob, otherWrites });

const reportData = Uint8Array.from({ length: 64 }, (_, index) => index);

describe('the evidence of a machine', () => {
  it('is what the kernel returns for the bytes that were written, and leaves no folder', async () => {
    const tdx = tdxDouble(quoteAbout);
    const reader = (await openEvidence('auto', tdx))!;
    expect(reader.provider).toBe('tdx');
    expect((await reader.read(reportData)).quote).toEqual(quoteAbout(reportData));
    expect(tdx.folders.size).toBe(0);
    const sev = (await openEvidence(
      'sev-snp',
      new ConfigfsDouble({ provider: 'sev_guest', outblob: sevReportAbout }),
    ))!;
    const { quote, certificates } = await sev.read(reportData);
    expect(quote).toEqual(sevReportAbout(reportData));
    expect(Buffer.from(certificates!).toString()).toBe('certificates');
  });

  it('comes from the agent of dstack where there is no configfs', async () => {
    const machine: Machine = {
      ...bareMachine,
      post: async ({ socket, path, body }) => {
        expect([socket, path]).toEqual(['/var/run/dstack.sock', '/GetQuote']);
        const asked = Buffer.from((body as { report_data: string }).report_data, 'hex');
        return { quote: Buffer.from(quoteAbout(asked)).toString('hex'), event_log: '[]' };
      },
    };
    const reader = (await openEvidence('tdx', machine))!;
    const { quote, eventLog } = await reader.read(reportData);
    expect(Buffer.from(quote).equals(quoteAbout(reportData))).toBe(true);
    expect(eventLog).toBe('[]');
  });

  it.each([
    ['nothing is there', bareMachine],
    ['the machine is of another kind', new ConfigfsDouble({ provider: 'other_guest', outblob: quoteAbout })],
    ['another process wrote to the report', tdxDouble(quoteAbout, 1)],
    ['the quote is about other bytes', tdxDouble(() => quoteAbout(new Uint8Array(64).fill(3)))],
    ['what came is no quote', tdxDouble(() => Buffer.from('quote'))],
    ['the agent answers nonsense', { ...bareMachine, post: async () => ({ quote: 'zz' }) }],
    ['the agent answers nothing', { ...bareMachine, post: async () => null }],
  ] satisfies [string, Machine][])('is refused, and nothing stands in for it, when %s', async (_, machine) => {
    for (const choice of ['auto', 'tdx', 'sev-snp'] as const) {
      await expect(openEvidence(choice, machine)).rejects.toThrow(EvidenceError);
    }
  });

  it('does not come from the device of older kernels, and the reason says why', async () => {
    const older: Machine = { ...bareMachine, exists: async (path) => path === '/dev/sev-guest' };
    for (const choice of ['auto', 'sev-snp'] as const) {
      await expect(openEvidence(choice, older)).rejects.toThrow(
        '/dev/sev-guest exists, but reports come from it by an ioctl',
      );
    }
    await expect(openEvidence('tdx', older)).rejects.not.toThrow('sev-guest');
    await expect(openEvidence('sev-snp', bareMachine)).rejects.not.toThrow('/dev/sev-guest');
  });

  it('does not exist for software, whatever the machine has', async () => {
    expect(await openEvidence('software', tdxDouble(quoteAbout))).toBeNull();
  });
});

describe('the attestation of a host', () => {
  const identity = createHostIdentity();

  it.each([
    [16, 'sha256'],
    [32, 'raw'],
  ] as const)('binds its address and a nonce of %i bytes', async (length, method) => {
    const nonce = new Uint8Array(length).fill(5);
    const machine = tdxDouble(quoteAbout);
    const reader = await openEvidence('tdx', machine);
    const attestation = await attestHost({ identity, reader }, nonce, machine);
    expect(attestation).toMatchObject({ provider: 'tdx', nonceMethod: method, address: identity.address });
    const quote = parseTdxQuote(Buffer.from(attestation.quote!, 'base64'))!;
    expect(Buffer.from(quote.reportData).equals(reportDataOf(identity.address, nonce))).toBe(true);
    expect(Buffer.from(quote.reportData.subarray(0, 20)).toString('hex')).toBe(identity.address.slice(2));
    expect(attestation.gpus).toBeUndefined();
  });

  it('has neither a quote nor a certificate in software', async () => {
    expect(Object.keys(await attestHost({ identity, reader: null }, new Uint8Array(32))).toSorted()).toEqual([
      'address',
      'nonceMethod',
      'provider',
      'publicKey',
    ]);
  });

  it.each([
    ['evidence for the nonce', (nonce: string) => ({ nonce, evidence: 'AA==', certificate: 'BB==' }), true],
    ['evidence for another nonce', () => ({ nonce: 'ff', evidence: 'AA==' }), false],
    ['no evidence', () => null, false],
  ])('holds of the GPUs what the tool of the driver prints: %s', async (_, evidenceFor, isKept) => {
    const kernel = tdxDouble(quoteAbout);
    const machine: Machine = Object.assign(Object.create(kernel) as Machine, {
      run: async (program: string, parameters: readonly string[]) => {
        expect(program).toBe('nvattest');
        return JSON.stringify({ result_code: 0, evidences: [evidenceFor(parameters.at(-1)!)] });
      },
    });
    const reader = await openEvidence('tdx', kernel);
    const { gpus } = await attestHost({ identity, reader }, new Uint8Array(32).fill(1), machine);
    expect(gpus?.length).toBe(isKept ? 1 : undefined);
  });
});
