// Checks the receipt of a request, without any code of the service and without any package: copy this file.
import { createHash, createPublicKey, verify } from 'node:crypto';

/**
 * Rejects, naming what does not hold, unless a key that the attested key endorsed signed a receipt of these bytes.
 * - `receipt`: of the response of `GET /tee/signature`
 * - `attestation`: the response of `GET /tee/attestation`, whose evidence for `signing_key` was checked before
 * - `chatId`: the id in the response; `model`: of the attestation; `sent`, `received`: the bytes of both bodies
 */
export function checkReceipt(receipt, attestation, { chatId, model, sent, received, nowMs = Date.now() }) {
  const { workload_keyset: keyset, keyset_endorsement: endorsement } = attestation.attestation;
  const digest = sha256(canonical(keyset));
  const identity = keyset.workload_identity.public_key;
  require(identity.public_key === attestation.signing_key, 'the keys for receipts are those of another host');
  const endorsed = canonical({ purpose: 'aci.keyset.endorsement.v1', workload_keyset_digest: digest });
  const attestedKey = { key: secp256k1Key(attestation.signing_key), dsaEncoding: 'ieee-p1363' };
  require(verify(
    'sha256',
    Buffer.from(endorsed),
    attestedKey,
    Buffer.from(endorsement.value, 'hex'),
  ), 'the attested key did not endorse the keys for receipts');
  require(keyset.keyset_epoch.not_after * 1000 > nowMs, 'the keys for receipts have expired');
  require(receipt.workload_id === sha256(canonical(identity)), 'the receipt is of another host');
  require(receipt.workload_keyset_digest === digest, 'the receipt was signed with other keys');

  const { value, ...signature } = receipt.signature;
  const key = keyset.receipt_signing_keys.find(({ key_id: id }) => id === signature.key_id);
  require(key?.algo === 'ed25519' && signature.algo === 'ed25519', 'no endorsed key signed the receipt');
  require(verify(
    null,
    Buffer.from(canonical({ ...receipt, signature })),
    ed25519Key(key.public_key),
    Buffer.from(value, 'hex'),
  ), 'the signature of the receipt does not hold');
  const event = (type) => receipt.event_log.find((entry) => entry.type === type);
  require(receipt.chat_id === chatId, 'the receipt is about another response');
  require(receipt.model === model, 'the receipt is about another model');
  require(event('request.received').body_hash === sha256(sent), 'the receipt is about another request');
  require(event('response.returned').wire_hash === sha256(received), 'the receipt is about other bytes');
}

/** The canonical form of JSON (RFC 8785). */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
}

const sha256 = (bytes) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const base64url = (hex) => Buffer.from(hex, 'hex').toString('base64url');

function secp256k1Key(hex) {
  const [x, y] = [hex.slice(2, 66), hex.slice(66)].map(base64url);
  return createPublicKey({ key: { kty: 'EC', crv: 'secp256k1', x, y }, format: 'jwk' });
}

function ed25519Key(hex) {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: base64url(hex) }, format: 'jwk' });
}

function require(holds, problem) {
  if (!holds) throw new Error(`receipt: ${problem}`);
}
