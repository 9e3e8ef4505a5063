import { createHash, verify, type X509Certificate } from 'node:crypto';
import { extensionsOf, integerOf } from './certificate-extensions.js';
import type { SevReport } from './sev-report.js';

/** Which parts of a report's signature hold. All of them: the maker's hardware made the report. */
export interface SevSignature {
  /** The key of a certificate signed the report. */
  readonly signatureValid: boolean;
  /** That certificate leads to a trusted root and is within its dates. Whether it was revoked is not looked up. */
  readonly certificateChainValid: boolean;
  /** The certificate is that of the chip and of the firmware that the report names. */
  readonly chipMatch: boolean;
}

export interface SevCertificates {
  /** In any order: that of the chip (or of its operator), the intermediate, the root. Nothing of them is trusted. */
  readonly chain: readonly X509Certificate[];
  /** The trusted roots. Default: those of the maker, by their keys. */
  readonly roots?: readonly X509Certificate[];
}

/** SHA-256 of the maker's root keys (ARK), one for each family of processors, as its public root certificates have them. */
const makerRoots: readonly string[] = [
  // Milan
  '9f056bee44377e29308cb5ffa895bdfb62d18881fa6bed8d6f075b0204089cb9',
  // Genoa
  '429a69c9422aa258ee4d8db5fcda9c6470ef15f8cd5a9cebd6cbc7d90b863831',
  // Turin
  '4f125410563a2ab9a50356f9243f6fe0b6f73de98603f53f90339c70e9d7ad08',
];

/** Longer chains do not occur. */
const maxDepth = 4;

const nothingHolds: SevSignature = { signatureValid: false, certificateChainValid: false, chipMatch: false };

/** Checks the signature of a report at a time, in ms since the epoch. Never throws. */
export function verifySevReport(report: SevReport, certificates: SevCertificates, nowMs: number): SevSignature {
  try {
    return check(report, certificates, nowMs);
  } catch {
    return nothingHolds;
  }
}

function check(report: SevReport, { chain, roots }: SevCertificates, nowMs: number): SevSignature {
  const signer = chain.find(({ publicKey }) => publicKey.asymmetricKeyDetails?.namedCurve === 'secp384r1');
  if (signer === undefined) return nothingHolds;
  const { signedBytes, signature } = report;
  return {
    signatureValid: verify('sha384', signedBytes, { key: signer.publicKey, dsaEncoding: 'ieee-p1363' }, signature),
    certificateChainValid: leadsToRoot(signer, { chain, roots }, nowMs),
    chipMatch: isOfChip(signer, report),
  };
}

function leadsToRoot(signer: X509Certificate, { chain, roots = [] }: SevCertificates, nowMs: number): boolean {
  const isRoot = rootTest(roots);
  let current = signer;
  for (let depth = 0; depth < maxDepth; depth++) {
    if (!isCurrent(current, nowMs)) return false;
    const below = current;
    const isIssuer = (above: X509Certificate) => above.ca && below.checkIssued(above) && below.verify(above.publicKey);
    const issuer = [...roots, ...chain].find(isIssuer);
    if (issuer === undefined) return false;
    if (isRoot(issuer)) return isCurrent(issuer, nowMs) && issuer.verify(issuer.publicKey);
    current = issuer;
  }
  return false;
}

function rootTest(roots: readonly X509Certificate[]): (certificate: X509Certificate) => boolean {
  const trusted = roots.length === 0 ? makerRoots : roots.map(keyHashOf);
  return (certificate) => trusted.includes(keyHashOf(certificate));
}

function keyHashOf({ publicKey }: X509Certificate): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

function isCurrent(certificate: X509Certificate, nowMs: number): boolean {
  return Date.parse(certificate.validFrom) <= nowMs && nowMs <= Date.parse(certificate.validTo);
}

/** The maker's arc of identifiers, 1.3.6.1.4.1.3704.1, encoded. */
const arc = '2b060104019c7801';
const hardwareId = `${arc}04`;
/** Identifiers of the versions that a certificate is for, in the order of `SevReport.firmware`. */
const versionIds = [`${arc}0301`, `${arc}0302`, `${arc}0303`, `${arc}0308`];

/** The certificate of an operator (VLEK) names no chip. */
function isOfChip(signer: X509Certificate, { chipId, firmware, signedBy }: SevReport): boolean {
  const extensions = extensionsOf(signer);
  const versions = versionIds.map((id) => integerOf(extensions.get(id)));
  if (!versions.every((version, index) => version === firmware[index])) return false;
  const chip = extensions.get(hardwareId);
  if (signedBy === 'operator') return chip === undefined;
  return signedBy === 'chip' && chip !== undefined && Buffer.from(chip).equals(chipId);
}
