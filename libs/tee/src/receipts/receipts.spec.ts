import { createHash, createPublicKey, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createHostIdentity } from '../host-identity.js';
import type { ClaimResult } from '../verification/claim.js';
import { verifyReceipt } from '../verification/verify-receipt.js';
import { canonicalJson } from './canonical-json.js';
import { createReceiptSigner, digestOf, workloadIdOf } from './workload.js';

const dayMs = 86_400_000;
const nowMs = Date.parse('2026-11-29T00:00:00Z');
const sha256 = (bytes: string) => createHash('sha256').update(bytes).digest('hex');

interface Issued {
  event_log: Record<string, unknown>[];
  signature: { algo: string; key_id: string; value?: string };
  [name: string]: unknown;
}

const [requestBody, responseBody] = [Buffer.from('{"model":"m"}'), Buffer.from('data: [DONE]\n\n')];
const facts = {
  ...{ chatId: 'chatcmpl-1', model: 'm', endpoint: '/api/v1/chat/completions', servedAtMs: nowMs, isSealed: false },
  ...{ requestHash: sha256('{"model":"m"}'), responseHash: sha256('data: [DONE]\n\n') },
};

const identity = createHostIdentity();
const signer = createReceiptSigner(identity);

function attestationOf(of = signer, atMs = nowMs) {
  const { keyset, endorsement } = of.keysetAt(atMs);
  return { attestation: { workload_keyset: keyset, keyset_endorsement: { value: endorsement } } };
}

const exchange = { model: 'm', requestBody, responseBody, address: identity.address, chatId: 'chatcmpl-1', nowMs };

function issue(changes: Partial<typeof facts> = {}): Issued {
  return JSON.parse(signer.issue({ ...facts, ...changes })) as Issued;
}

function resultOf(
  receipt: unknown,
  changes: Partial<typeof exchange> = {},
  attestation: object = attestationOf(),
): ClaimResult {
  return verifyReceipt({ receipt }, attestation, { ...exchange, ...changes });
}

describe('a receipt', () => {
  it('is in its canonical form, and its key signed that form without the signature', () => {
    const text = signer.issue(facts);
    const receipt = JSON.parse(text) as Issued;
    expect(text).toBe(canonicalJson(receipt));
    const { value = '', ...signature } = receipt.signature;
    const [key] = signer.keysetAt(nowMs).keyset.receipt_signing_keys;
    const x = Buffer.from(key?.public_key ?? '', 'hex').toString('base64url');
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    const bytes = Buffer.from(canonicalJson({ ...receipt, signature }));
    expect(verify(null, bytes, publicKey, Buffer.from(value, 'hex'))).toBe(true);
    expect(receipt).toMatchObject({
      ...{ api_version: 'aci/1', chat_id: 'chatcmpl-1', model: 'm', method: 'POST', served_at: nowMs / 1_000 },
      event_log: [
        { seq: 0, type: 'request.received', body_hash: `sha256:${facts.requestHash}` },
        {
          ...{ seq: 1, type: 'response.returned', wire_hash: `sha256:${facts.responseHash}` },
          cleartext_hash: `sha256:${facts.responseHash}`,
        },
      ],
      signature: { algo: 'ed25519' },
    });
  });

  it('says nothing of the clear form of a sealed response', () => {
    expect(issue({ isSealed: true }).event_log[1]).toEqual({
      ...{ seq: 1, type: 'response.returned', wire_hash: `sha256:${facts.responseHash}` },
    });
  });

  it('has an id of its own', () => {
    expect(issue()['receipt_id']).not.toBe(issue()['receipt_id']);
  });

  it('is verified by the attested key alone', () => {
    expect(resultOf(issue())).toMatchObject({ claim: 'receipt', result: 'proven' });
    expect(resultOf(issue({ isSealed: true })).result).toBe('proven');
    expect(resultOf(undefined).result).toBe('unknown');
  });

  it.each<[string, () => ClaimResult]>([
    ['another request', () => resultOf(issue(), { requestBody: responseBody })],
    ['another response', () => resultOf(issue(), { responseBody: requestBody })],
    ['another model', () => resultOf(issue(), { model: 'n' })],
    ['another id', () => resultOf(issue(), { chatId: 'chatcmpl-2' })],
    ['another attested key', () => resultOf(issue(), { address: createHostIdentity().address })],
    ['keys that have expired', () => resultOf(issue(), { nowMs: nowMs + 91 * dayMs })],
    ['no keys', () => resultOf(issue(), {}, {})],
    ['the keys of another host', () => resultOf(issue(), {}, attestationOf(createReceiptSigner(createHostIdentity())))],
    ['another signer of the same host', () => resultOf(issue(), {}, attestationOf(createReceiptSigner(identity)))],
    ['a version of tomorrow', () => resultOf({ ...issue(), api_version: 'aci/2' })],
    ['an added member', () => resultOf({ ...issue(), more: 1 })],
    ['two events of a kind', () => resultOf({ ...issue(), event_log: [...issue().event_log, ...issue().event_log] })],
    ['no events', () => resultOf({ ...issue(), event_log: undefined })],
    ['no signature', () => resultOf({ ...issue(), signature: undefined })],
    ['null', () => resultOf(null)],
    ['text', () => resultOf('receipt')],
  ])('is refuted for %s', (_, result) => {
    expect(result()).toMatchObject({ claim: 'receipt', result: 'false' });
  });

  it('is refuted with keys that the attested key did not endorse', () => {
    const { attestation } = attestationOf();
    const other = createReceiptSigner(createHostIdentity()).keysetAt(nowMs);
    const keyset = { ...attestation.workload_keyset, receipt_signing_keys: other.keyset.receipt_signing_keys };
    for (const value of [attestation.keyset_endorsement.value, other.endorsement, '', '00'.repeat(64), undefined]) {
      const forged = { attestation: { workload_keyset: keyset, keyset_endorsement: { value } } };
      expect(resultOf(issue(), {}, forged).detail).toBe('The attested key did not endorse the keys for receipts.');
    }
  });
});

describe('the keys of a host', () => {
  it('are named by their digests, and stay as they are while they are valid', () => {
    const { keyset } = signer.keysetAt(nowMs);
    expect(signer.keysetAt(nowMs + 59 * dayMs).keyset).toBe(keyset);
    const receipt = issue();
    expect(receipt['workload_id']).toBe(workloadIdOf(keyset));
    expect(receipt['workload_keyset_digest']).toBe(digestOf(keyset));
    expect(receipt['workload_keyset_digest']).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  it('are endorsed again before they expire, by the same keys', () => {
    const own = createReceiptSigner(identity);
    const [first, second] = [own.keysetAt(nowMs).keyset, own.keysetAt(nowMs + 61 * dayMs).keyset];
    expect([first, second].map((keyset) => keyset.keyset_epoch.version)).toEqual([1, 2]);
    expect(second.receipt_signing_keys).toEqual(first.receipt_signing_keys);
    const later = nowMs + 95 * dayMs;
    const receipt = JSON.parse(own.issue({ ...facts, servedAtMs: later })) as object;
    const result = verifyReceipt({ receipt }, attestationOf(own, later), { ...exchange, nowMs: later });
    expect(result.result).toBe('proven');
  });

  it('are reached by nothing but their functions', () => {
    expect(Object.keys(signer).toSorted()).toEqual(['issue', 'keysetAt']);
    expect(JSON.stringify(signer)).toBe('{}');
  });
});
