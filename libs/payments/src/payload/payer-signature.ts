import { createPublicKey, verify } from 'node:crypto';
import { base58Bytes } from '#accounts';
import type { ParsedPayment } from './payment.js';
import { decodeTransaction } from './solana-transaction.js';

/*
 * Whether the payer signed a payment. The api asks before it returns what another payment of the same payer led to;
 * whether a payment can be executed is asked of the facilitator only.
 */

/** Rejects nothing: what cannot be checked, such as the signature of a contract wallet, was not signed. */
export async function isSignedByPayer(payment: ParsedPayment): Promise<boolean> {
  try {
    return payment.kind === 'evm' ? await isSignedOnEvm(payment) : isSignedOnSolana(payment);
  } catch {
    return false;
  }
}

function isSignedOnSolana({ authorization: { payer, payload } }: ParsedPayment): boolean {
  const { keys, signatures, message } = decodeTransaction(String(payload.transaction));
  const signature = signatures[keys.indexOf(payer)];
  const key = base58Bytes(payer, 32);
  if (signature === undefined || key === null) return false;
  const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), key]);
  return verify(null, message, createPublicKey({ key: spki, format: 'der', type: 'spki' }), signature);
}

const domainType = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)';
const transferType =
  'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)';

interface EvmPayload {
  signature: string;
  authorization: Record<'from' | 'to' | 'value' | 'validAfter' | 'validBefore' | 'nonce', string>;
}

/** Recovers the signer of the typed data. The curve is loaded on first use: few requests need it. */
async function isSignedOnEvm({ terms, authorization: { payer, payload } }: ParsedPayment): Promise<boolean> {
  const [{ secp256k1 }, { keccak_256: keccak }] = await Promise.all([
    import('@noble/curves/secp256k1'),
    import('@noble/hashes/sha3'),
  ]);
  const digestOf = (bytes: Uint8Array) => Buffer.from(keccak(bytes));
  const textDigest = (text: string) => digestOf(Buffer.from(text));
  const { signature, authorization } = payload as unknown as EvmPayload;
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const domain = digestOf(
    Buffer.concat([
      textDigest(domainType),
      textDigest(terms.extra.name ?? ''),
      textDigest(terms.extra.version ?? ''),
      word(BigInt(terms.network.slice('eip155:'.length))),
      word(BigInt(terms.asset)),
    ]),
  );
  const numbers = [from, to, value, validAfter, validBefore, nonce].map((text) => word(BigInt(text)));
  const message = digestOf(Buffer.concat([textDigest(transferType), ...numbers]));
  const digest = digestOf(Buffer.concat([Buffer.from([0x19, 0x01]), domain, message]));
  const bytes = Buffer.from(signature.slice(2), 'hex');
  if (bytes.length !== 65) return false;
  const parity = (bytes[64] ?? 0) % 27;
  const point = secp256k1.Signature.fromCompact(bytes.subarray(0, 64)).addRecoveryBit(parity).recoverPublicKey(digest);
  const address = digestOf(point.toRawBytes(false).subarray(1)).subarray(12);
  return `0x${address.toString('hex')}` === payer;
}

function word(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(64, '0'), 'hex');
}
