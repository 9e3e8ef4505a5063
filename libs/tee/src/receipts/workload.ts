import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { HostIdentity } from '../host-identity.js';
import { canonicalJson } from './canonical-json.js';
import {
  digestText,
  type EndorsedKeyset,
  type ReceiptFacts,
  receiptOf,
  type ReceiptSignature,
  type WorkloadKey,
  type WorkloadKeyset,
} from './receipt.js';

const dayMs = 86_400_000;

/** A keyset is valid for this long. A host that lives longer gets a new one with the same keys in time. */
const keysetMs = 90 * dayMs;
const renewBeforeMs = 30 * dayMs;

const keyId = 'receipts';

/** Signs the receipts of one model host. Its Ed25519 key is made here and is nowhere else. */
export interface ReceiptSigner {
  /** The keys that are valid at a time, and what makes them those of the attested key. */
  keysetAt(nowMs: number): EndorsedKeyset;
  /** Returns a signed receipt in its canonical form (RFC 8785). */
  issue(facts: Omit<ReceiptFacts, 'receiptId'>): string;
}

export function createReceiptSigner(identity: Pick<HostIdentity, 'publicKey' | 'endorse'>): ReceiptSigner {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const receiptKey = { key_id: keyId, algo: 'ed25519', public_key: rawKey(publicKey) };
  let current: (EndorsedKeyset & { digest: string }) | null = null;

  const keysetAt = (nowMs: number): EndorsedKeyset & { digest: string } => {
    if (current !== null && nowMs < endOf(current.keyset) - renewBeforeMs) return current;
    const keyset: WorkloadKeyset = {
      workload_identity: { public_key: identityKeyOf(identity.publicKey), subject: null },
      keyset_epoch: {
        version: (current?.keyset.keyset_epoch.version ?? 0) + 1,
        not_after: Math.floor((nowMs + keysetMs) / 1_000),
      },
      receipt_signing_keys: [receiptKey],
      e2ee_public_keys: [],
      tls_public_keys: [],
    };
    const digest = digestOf(keyset);
    current = { keyset, digest, endorsement: identity.endorse(digest) };
    return current;
  };

  return {
    keysetAt,
    issue: (facts) => {
      const { keyset, digest } = keysetAt(facts.servedAtMs);
      const signature: ReceiptSignature = { algo: receiptKey.algo, key_id: keyId };
      const issuer = { workload_id: workloadIdOf(keyset), workload_keyset_digest: digest };
      const receipt = receiptOf(
        { ...facts, receiptId: `rcpt-${randomBytes(16).toString('hex')}` },
        { ...issuer, signature },
      );
      const value = sign(null, Buffer.from(canonicalJson(receipt)), privateKey).toString('hex');
      return canonicalJson({ ...receipt, signature: { ...signature, value } });
    },
  };
}

/** Names a workload by its identity key. */
export function workloadIdOf(keyset: Pick<WorkloadKeyset, 'workload_identity'>): string {
  return digestOf(keyset.workload_identity.public_key);
}

/** The SHA-256 of the canonical form, as receipts name it. */
export function digestOf(value: object): string {
  return digestText(createHash('sha256').update(canonicalJson(value)).digest('hex'));
}

function identityKeyOf(publicKey: string): WorkloadKey {
  return { algo: 'ecdsa-secp256k1', public_key: publicKey };
}

function endOf({ keyset_epoch: epoch }: WorkloadKeyset): number {
  return epoch.not_after * 1_000;
}

/** The 32 bytes of an Ed25519 key, as hex. */
function rawKey(key: KeyObject): string {
  return Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex');
}
