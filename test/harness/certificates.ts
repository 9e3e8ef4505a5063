import { generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto';

/* Certificates that tests make themselves: X.509 in DER, signed on an elliptic curve. No maker of hardware has a part. */

const tag = { boolean: 0x01, integer: 0x02, bits: 0x03, octets: 0x04, id: 0x06, text: 0x0c, time: 0x18 } as const;
const [sequence, set] = [0x30, 0x31];

export function derValue(tagByte: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const size = body.length < 128 ? [] : [...Buffer.from(body.length.toString(16).padStart(4, '0'), 'hex')];
  return Buffer.concat([Buffer.from([tagByte, ...(size.length === 0 ? [body.length] : [0x82, ...size])]), body]);
}

export const derInteger = (value: number): Buffer => derValue(tag.integer, Buffer.from([value]));

const id = (hex: string): Buffer => derValue(tag.id, Buffer.from(hex, 'hex'));
const commonName = '550403';
const basicConstraints = '551d13';
const signatureIds = { sha256: '2a8648ce3d040302', sha384: '2a8648ce3d040303' } as const;

function nameOf(text: string): Buffer {
  const part = derValue(sequence, id(commonName), derValue(tag.text, Buffer.from(text)));
  return derValue(sequence, derValue(set, part));
}

const timeOf = (text: string): Buffer => derValue(tag.time, Buffer.from(text));

/** A key and its certificate. */
export interface CertifiedKey {
  readonly name: string;
  readonly key: KeyObject;
  readonly certificate: X509Certificate;
}

interface CertificateOptions {
  name: string;
  curve: 'P-256' | 'P-384';
  /** Absent: it signs itself. */
  issuer?: CertifiedKey;
  /** Contents by the hex of their encoded identifiers. */
  extensions?: ReadonlyMap<string, Uint8Array>;
  isAuthority?: boolean;
  /** First and last second of its validity. Default: 2020 to 2049. */
  valid?: readonly [string, string];
}

const thirtyYears = ['20200101000000Z', '20491231000000Z'] as const;

/** Makes a key and a certificate for it. */
export function certify(options: CertificateOptions): CertifiedKey {
  const { name, curve, issuer, extensions, isAuthority = false, valid = thirtyYears } = options;
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: curve });
  const issuerKey = issuer?.key ?? privateKey;
  const hash = issuerKey.asymmetricKeyDetails?.namedCurve === 'secp384r1' ? 'sha384' : 'sha256';
  const algorithm = derValue(sequence, id(signatureIds[hash]));
  const all = [...(extensions ?? new Map<string, Uint8Array>())].map(([extension, content]) =>
    derValue(sequence, id(extension), derValue(tag.octets, content)),
  );
  const constraints = derValue(sequence, derValue(tag.boolean, Buffer.from([0xff])));
  if (isAuthority) all.push(derValue(sequence, id(basicConstraints), derValue(tag.octets, constraints)));
  const body = derValue(
    sequence,
    derValue(0xa0, derInteger(2)),
    derInteger(1),
    algorithm,
    nameOf(issuer?.name ?? name),
    derValue(sequence, timeOf(valid[0]), timeOf(valid[1])),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(all.length === 0 ? [] : [derValue(0xa3, derValue(sequence, ...all))]),
  );
  const signature = derValue(tag.bits, Buffer.from([0]), sign(hash, body, issuerKey));
  const certificate = new X509Certificate(derValue(sequence, body, algorithm, signature));
  return { name, key: privateKey, certificate };
}
