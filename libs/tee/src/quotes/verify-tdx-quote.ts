import { createHash, createPublicKey, type KeyObject, verify, X509Certificate } from 'node:crypto';
import type { TdxQuote } from './tdx-quote.js';

/** Reads bytes from the front; throws where too few are left. */
class ByteReader {
  private position = 0;

  constructor(private readonly bytes: Uint8Array) {}

  take(length: number): Uint8Array {
    const end = this.position + length;
    if (end > this.bytes.length) throw new Error('the bytes end too early');
    const taken = this.bytes.subarray(this.position, end);
    this.position = end;
    return taken;
  }

  /** A little-endian number. */
  number(length: 2 | 4): number {
    return this.take(length).reduceRight((value, byte) => value * 256 + byte, 0);
  }

  expect(number: number): void {
    if (this.number(2) !== number) throw new Error('unknown certification data');
  }
}

/** Which parts of a quote's signature hold. All of them: Intel's hardware made the quote. How old its firmware is, is another question. */
export interface QuoteSignature {
  /** The attestation key of the quote signed its header and body. */
  readonly signatureValid: boolean;
  /** The quoting enclave names that key, and a certificate of the processor signed its report. */
  readonly attestationKeyMatch: boolean;
  /** The certificate leads to the root of the maker and is within its dates. Whether it was revoked is not looked up. */
  readonly certificateChainValid: boolean;
}

/** The maker's root key: its coordinates, as its public root certificate has them. */
const rootKey =
  '0ba9c4c0c0c86193a3fe23d6b02cda10a8bbd4e88e48b4458561a36e705525f567918e2edc88e40d860bd0cc4ee26aacc988e505a953558c453f6b0904ae7394';

/** Certification data: a report of the quoting enclave, and a chain of certificates as PEM. */
const enclaveReport = 6;
const pemChain = 5;

const nothingHolds: QuoteSignature = {
  signatureValid: false,
  attestationKeyMatch: false,
  certificateChainValid: false,
};

/** Checks the signatures of a quote at a time, in ms since the epoch. Only tests trust another root. Never throws. */
export function verifyTdxQuote(
  quote: Pick<TdxQuote, 'signedBytes' | 'authentication'>,
  nowMs: number,
  trustedRoot = rootKey,
): QuoteSignature {
  try {
    return check(quote, nowMs, trustedRoot);
  } catch {
    return nothingHolds;
  }
}

function check(
  { signedBytes, authentication }: Pick<TdxQuote, 'signedBytes' | 'authentication'>,
  nowMs: number,
  trustedRoot: string,
) {
  const reader = new ByteReader(authentication);
  const signature = reader.take(64);
  const attestationKey = reader.take(64);
  reader.expect(enclaveReport);
  const enclave = new ByteReader(reader.take(reader.number(4)));
  const report = enclave.take(384);
  const reportSignature = enclave.take(64);
  const authData = enclave.take(enclave.number(2));
  enclave.expect(pemChain);
  const chain = readChain(enclave.take(enclave.number(4)));
  const [processor] = chain;
  if (processor === undefined) return nothingHolds;
  const named = createHash('sha256').update(attestationKey).update(authData).digest();
  return {
    signatureValid: isSigned(signedBytes, signature, keyOfPoint(attestationKey)),
    attestationKeyMatch:
      named.equals(report.subarray(320, 352)) && isSigned(report, reportSignature, processor.publicKey),
    certificateChainValid: leadsToRoot(chain, nowMs, trustedRoot),
  };
}

function isSigned(bytes: Uint8Array, signature: Uint8Array, key: KeyObject): boolean {
  return verify('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' }, signature);
}

/** Reads a public key on P-256 from its coordinates. */
function keyOfPoint(point: Uint8Array): KeyObject {
  const [x, y] = [point.subarray(0, 32), point.subarray(32)].map((part) => Buffer.from(part).toString('base64url'));
  return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
}

/** Longer chains do not occur; each certificate costs a check of its signature. */
const maxCertificates = 4;

function readChain(pem: Uint8Array): X509Certificate[] {
  const end = '-----END CERTIFICATE-----';
  const parts = Buffer.from(pem)
    .toString('latin1')
    .split(end, maxCertificates + 1)
    .slice(0, -1);
  return parts.map((part) => new X509Certificate(`${part}${end}`));
}

function leadsToRoot(chain: readonly X509Certificate[], nowMs: number, trustedRoot: string): boolean {
  const root = chain.at(-1);
  const { x = '', y = '' } = root?.publicKey.export({ format: 'jwk' }) ?? {};
  const point = [x, y].map((part) => Buffer.from(part, 'base64url').toString('hex')).join('');
  if (chain.length < 2 || point !== trustedRoot) return false;
  return chain.every((certificate, index) => {
    const issuer = chain[index + 1] ?? certificate;
    const isCurrent = Date.parse(certificate.validFrom) <= nowMs && nowMs <= Date.parse(certificate.validTo);
    return (
      isCurrent &&
      certificate.checkIssued(issuer) &&
      certificate.verify(issuer.publicKey) &&
      (index === 0 || certificate.ca)
    );
  });
}
