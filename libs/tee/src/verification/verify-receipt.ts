import { createHash, createPublicKey, verify } from 'node:crypto';
import { isEndorsed } from '../host-identity.js';
import { canonicalJson } from '../receipts/canonical-json.js';
import { digestText, receiptVersion, type WorkloadKeyset } from '../receipts/receipt.js';
import { digestOf, workloadIdOf } from '../receipts/workload.js';
import { type ClaimResult, proven, refuted, unknown } from './claim.js';
import { type AttestationResponse, keyAddress } from './verify-attestation.js';
import type { Exchange, SignatureResponse } from './verify-exchange.js';

interface Receipt {
  readonly api_version?: unknown;
  readonly chat_id?: unknown;
  readonly model?: unknown;
  readonly workload_id?: unknown;
  readonly workload_keyset_digest?: unknown;
  readonly event_log?: unknown;
  readonly signature?: { readonly algo?: unknown; readonly key_id?: unknown; readonly value?: unknown };
}

interface ReceiptExchange extends Exchange {
  /** Id of the model that is attested. */
  readonly model: string;
  /** The id in the body of the response. */
  readonly chatId: string;
  readonly nowMs: number;
}

/** Checks the receipt of a request against the attested key: the key endorsed a keyset, a key of which signed the receipt. */
export function verifyReceipt(
  { receipt }: SignatureResponse,
  attestation: AttestationResponse,
  exchange: ReceiptExchange,
): ClaimResult {
  if (receipt === undefined) return unknown('receipt', 'The service issued no receipt.');
  try {
    const problem = problemOf((receipt ?? {}) as Receipt, attestation, exchange);
    if (problem !== null) return refuted('receipt', problem);
  } catch {
    return refuted('receipt', 'What came as a receipt is none.');
  }
  return proven('receipt', 'A key that the attested key endorsed signed the receipt, and it names these bytes.');
}

function problemOf(receipt: Receipt, attestation: AttestationResponse, exchange: ReceiptExchange): string | null {
  if (receipt.api_version !== receiptVersion) return 'The receipt is of an unknown version.';
  const keyset = attestation.attestation?.workload_keyset as WorkloadKeyset | undefined;
  if (typeof keyset !== 'object') return 'The service did not say which key signs its receipts.';
  const { value: endorsement } = attestation.attestation?.keyset_endorsement ?? {};
  return (
    keysetProblem(keyset, String(endorsement), exchange) ??
    signatureProblem(receipt, keyset) ??
    contentProblem(receipt, exchange)
  );
}

/** Only the attested key makes a keyset that of the machine; what stands beside the evidence proves nothing. */
function keysetProblem(keyset: WorkloadKeyset, endorsement: string, exchange: ReceiptExchange): string | null {
  const { algo, public_key: key } = keyset.workload_identity.public_key;
  if (algo !== 'ecdsa-secp256k1' || keyAddress({ signing_key: key }) !== exchange.address) {
    return 'The keys for receipts are those of another host.';
  }
  if (!isEndorsed(key, digestOf(keyset), endorsement)) return 'The attested key did not endorse the keys for receipts.';
  return keyset.keyset_epoch.not_after * 1_000 > exchange.nowMs ? null : 'The keys for receipts have expired.';
}

function signatureProblem(receipt: Receipt, keyset: WorkloadKeyset): string | null {
  if (receipt.workload_id !== workloadIdOf(keyset) || receipt.workload_keyset_digest !== digestOf(keyset)) {
    return 'The receipt is of another host.';
  }
  const { algo, key_id: keyId, value, ...others } = receipt.signature ?? {};
  const key = keyset.receipt_signing_keys.find((entry) => entry.key_id === keyId);
  if (key?.algo !== 'ed25519' || algo !== key.algo) return 'No endorsed key signed the receipt.';
  const bytes = Buffer.from(canonicalJson({ ...receipt, signature: { algo, key_id: keyId, ...others } }));
  const isSigned =
    typeof value === 'string' &&
    /^[0-9a-f]{128}$/.test(value) &&
    verify(null, bytes, ed25519Key(key.public_key), Buffer.from(value, 'hex'));
  return isSigned ? null : 'The signature of the receipt does not hold.';
}

function ed25519Key(hex: string) {
  const x = Buffer.from(hex, 'hex').toString('base64url');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}

function contentProblem(receipt: Receipt, exchange: ReceiptExchange): string | null {
  const { chatId, model, requestBody, responseBody } = exchange;
  if (receipt.model !== model) return 'The receipt is about another model.';
  if (receipt.chat_id !== chatId) return 'The receipt is about another response.';
  const log = receipt.event_log as readonly { type?: unknown; body_hash?: unknown; wire_hash?: unknown }[];
  const only = (type: string) => {
    const [event, ...others] = log.filter((entry) => entry.type === type);
    return others.length === 0 ? event : undefined;
  };
  if (only('request.received')?.body_hash !== hashText(requestBody)) return 'The receipt is about another request.';
  if (only('response.returned')?.wire_hash !== hashText(responseBody)) {
    return 'The receipt is about other bytes of the response.';
  }
  return null;
}

function hashText(bytes: Uint8Array): string {
  return digestText(createHash('sha256').update(bytes).digest('hex'));
}
