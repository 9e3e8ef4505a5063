import { X509Certificate } from 'node:crypto';

/** Longer tables do not occur; each certificate costs a check of its signature. */
const maxCertificates = 8;

const entryBytes = 24;

/** Reads the certificates that the host of a guest passes on: a table of names, offsets and lengths, then DER. */
export function readCertificateTable(bytes: Uint8Array): X509Certificate[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const certificates: X509Certificate[] = [];
  for (let at = 0; at + entryBytes <= bytes.length && certificates.length < maxCertificates; at += entryBytes) {
    const [offset, length] = [view.getUint32(at + 16, true), view.getUint32(at + 20, true)];
    // An entry of zeros ends the table.
    if (length === 0) break;
    const certificate = readDer(bytes.subarray(offset, offset + length));
    if (certificate !== null) certificates.push(certificate);
  }
  return certificates;
}

const pemBegin = '-----BEGIN CERTIFICATE-----';
const pemEnd = '-----END CERTIFICATE-----';

/** Reads the certificates of a PEM file; throws for one that is none. */
export function readPemCertificates(pem: string): X509Certificate[] {
  const [, ...blocks] = pem.split(pemBegin, maxCertificates + 1);
  return blocks.map((block) => new X509Certificate(`${pemBegin}${block.split(pemEnd, 1)[0]}${pemEnd}`));
}

/** A host may pass on other things than certificates: they do not count. */
function readDer(bytes: Uint8Array): X509Certificate | null {
  try {
    return new X509Certificate(bytes);
  } catch {
    return null;
  }
}
