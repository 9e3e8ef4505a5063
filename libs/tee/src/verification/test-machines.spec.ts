import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { makeSevMachine, makeTdxMachine } from '#test/tee-machines';
import { openEvidence } from '../evidence/open-evidence.js';
import { attestHost } from '../host-attestation.js';
import { createHostIdentity } from '../host-identity.js';
import { createReceiptSigner } from '../receipts/workload.js';
import { signedText } from '../signed-text.js';
import { claimNames, type ClaimResult } from './claim.js';
import { type AttestationResponse, verifyAttestation, type VerifyOptions } from './verify-attestation.js';
import { verifyExchange } from './verify-exchange.js';
import { verifyReceipt } from './verify-receipt.js';

/*
 * Every claim on one piece of evidence, which the published samples of real machines cannot show: they are about keys and
 * nonces of others. The machines are doubles, so their roots stand in for that of the maker.
 */

const nowMs = Date.parse('2026-11-29T00:00:00Z');
const tdx = makeTdxMachine();
const sev = makeSevMachine();
const upToDate: VerifyOptions['firmwareOf'] = async () => ({ status: 'UpToDate', advisories: [] });

const machines = [
  {
    provider: 'tdx',
    machine: tdx.machine,
    trust: { tdxRoot: tdx.rootKey, firmwareOf: upToDate },
    measurements: ['00'.repeat(48)],
  },
  {
    provider: 'sev-snp',
    machine: sev.machine,
    trust: { amdCertificates: sev.rootPem, minimumFirmware: [4, 0, 24, 200] },
    measurements: ['00'.repeat(48)],
  },
] as const;

/** A model host on a machine, with the part of an api that passes its answers on. */
async function startHost({ provider, machine }: (typeof machines)[number]) {
  const identity = createHostIdentity();
  const receipts = createReceiptSigner(identity);
  const reader = await openEvidence(provider, machine);
  const attest = async (nonce: string): Promise<AttestationResponse> => {
    const attested = await attestHost({ identity, receipts, reader }, Buffer.from(nonce, 'hex'), machine);
    const { quote, certificates, publicKey, address, workload } = attested;
    return {
      tee_provider: attested.provider,
      ...(attested.provider === 'tdx' ? { intel_quote: quote } : { sev_report: quote }),
      ...(certificates !== undefined && { sev_certificates: certificates }),
      ...{ signing_key: publicKey, signing_address: address },
      attestation: { workload_keyset: workload?.keyset, keyset_endorsement: { value: workload?.endorsement } },
    };
  };
  const chat = () => {
    const [requestBody, responseBody] = [randomBytes(20), randomBytes(20)];
    const [requestHash, responseHash] = [requestBody, responseBody].map((body) =>
      createHash('sha256').update(body).digest('hex'),
    ) as [string, string];
    const text = signedText({ requestHash, responseHash });
    const said = { chatId: 'chatcmpl-1', endpoint: '/chat', servedAtMs: nowMs, isSealed: false };
    const receipt: unknown = JSON.parse(receipts.issue({ model: 'm', requestHash, responseHash, ...said }));
    return { requestBody, responseBody, signature: { text, signature: identity.sign(text), receipt } };
  };
  return { attest, chat, address: identity.address };
}

function resultsOf(results: readonly ClaimResult[]) {
  return Object.fromEntries(results.map(({ claim, result }) => [claim, result]));
}

describe.each(machines)('a host on a double of a machine with $provider', (world) => {
  const { trust, measurements } = world;

  async function verify(
    host: Awaited<ReturnType<typeof startHost>>,
    chat: ReturnType<typeof host.chat>,
    nonceBytes = 32,
  ) {
    const nonce = randomBytes(nonceBytes).toString('hex');
    const attestation = await host.attest(nonce);
    const { requestBody, responseBody, signature } = chat;
    const exchange = { requestBody, responseBody, address: String(attestation.signing_address) };
    return resultsOf([
      ...(await verifyAttestation(attestation, { nonce, nowMs, measurements, ...trust })),
      verifyExchange(signature, exchange),
      verifyReceipt(signature, attestation, { ...exchange, model: 'm', chatId: 'chatcmpl-1', nowMs }),
    ]);
  }

  it.each([16, 32])('proves every claim with a nonce of %i bytes', async (nonceBytes) => {
    const host = await startHost(world);
    const results = await verify(host, host.chat(), nonceBytes);
    expect(results).toEqual(Object.fromEntries(claimNames.map((name) => [name, 'proven'])));
  });

  it('proves nothing of a chat that it did not run, because it has started again since', async () => {
    const before = await startHost(world);
    const after = await startHost(world);
    expect(after.address).not.toBe(before.address);
    const results = await verify(after, before.chat());
    expect(results).toMatchObject({ hardware: 'proven', key: 'proven', nonce: 'proven' });
    expect(results).toMatchObject({ exchange: 'false', receipt: 'false' });
  });

  it('is no machine of the maker', async () => {
    const nonce = randomBytes(32).toString('hex');
    const attestation = await (await startHost(world)).attest(nonce);
    expect(resultsOf(await verifyAttestation(attestation, { nonce, nowMs }))).toMatchObject({ hardware: 'false' });
  });

  it('does not prove a nonce or a key of others', async () => {
    const host = await startHost(world);
    const [nonce, other] = [randomBytes(32), randomBytes(32)].map((bytes) => bytes.toString('hex')) as [string, string];
    const attestation = await host.attest(nonce);
    const options = { nowMs, ...trust };
    expect(resultsOf(await verifyAttestation(attestation, { nonce: other, ...options }))).toMatchObject({
      ...{ hardware: 'proven', key: 'proven', nonce: 'false' },
    });
    const { publicKey, address } = createHostIdentity();
    const stolen = { ...attestation, signing_key: publicKey, signing_address: address };
    expect(resultsOf(await verifyAttestation(stolen, { nonce, ...options }))).toMatchObject({
      ...{ hardware: 'proven', key: 'false', nonce: 'proven' },
    });
  });
});

it('firmware that is older than expected is refused', async () => {
  const [, world] = machines;
  const nonce = randomBytes(32).toString('hex');
  const attestation = await (await startHost(world)).attest(nonce);
  const options = { nonce, nowMs, amdCertificates: sev.rootPem };
  const firmwareClaim = async (minimumFirmware: number[]) =>
    resultsOf(await verifyAttestation(attestation, { ...options, minimumFirmware }))['firmware'];
  expect(await firmwareClaim([4, 0, 24, 219])).toBe('proven');
  expect(await firmwareClaim([4, 0, 25, 0])).toBe('false');
  expect(await firmwareClaim([5, 0, 0, 0])).toBe('false');
});
