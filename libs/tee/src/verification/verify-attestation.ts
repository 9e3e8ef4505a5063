import { addressOfPublicKey } from '../host-identity.js';
import { readCertificateTable, readPemCertificates } from '../quotes/sev-certificates.js';
import { parseSevReport, type SevReport } from '../quotes/sev-report.js';
import { parseTdxQuote, type TdxQuote } from '../quotes/tdx-quote.js';
import { type SevCertificates, verifySevReport } from '../quotes/verify-sev-report.js';
import { verifyTdxQuote } from '../quotes/verify-tdx-quote.js';
import { readNonce, reportDataOf } from '../report-data.js';
import { type ClaimResult, proven, refuted, unknown } from './claim.js';

/** The response of `GET /tee/attestation`, of which nothing is trusted. */
export interface AttestationResponse {
  readonly tee_provider?: unknown;
  /** Base64, base64url or hex. */
  readonly intel_quote?: unknown;
  readonly sev_report?: unknown;
  /** Certificates of the report, as the kernel returned them; base64. */
  readonly sev_certificates?: unknown;
  readonly signing_key?: unknown;
  readonly signing_public_key?: unknown;
  readonly signing_address?: unknown;
  readonly attestation?: {
    readonly workload_keyset?: unknown;
    readonly keyset_endorsement?: { readonly value?: unknown };
  };
}

/** Status of the firmware of a machine, as its maker publishes it. */
export interface FirmwareStatus {
  /** Of the maker; only `UpToDate` is accepted. */
  readonly status: string;
  readonly advisories: readonly string[];
}

export interface VerifyOptions {
  /** As it was sent: 32 or 64 hex characters. */
  readonly nonce: string;
  readonly nowMs: number;
  /** Rejects where the quote or the maker's data do not hold. Absent: there is no data of the maker. */
  readonly firmwareOf?: (quote: Uint8Array) => Promise<FirmwareStatus>;
  /** Expected measurements as hex: MRTD and RTMR0 to 3, or that of an SEV-SNP guest. Absent: nothing is expected. */
  readonly measurements?: readonly string[];
  /** TDX: coordinates of the only trusted root key, as hex; for machines of tests. Absent: the maker's. */
  readonly tdxRoot?: string;
  /**
   * SEV-SNP: certificates as PEM. Those that signed themselves are the only trusted roots; others complete what the
   * service sends. Absent: the maker's roots.
   */
  readonly amdCertificates?: string;
  /** SEV-SNP: lowest accepted versions of boot loader, TEE, SNP and microcode. Absent: nothing is expected. */
  readonly minimumFirmware?: readonly number[];
}

/** Checks what a service returned about the key of a model host. Never rejects; every claim has a result. */
export async function verifyAttestation(response: AttestationResponse, options: VerifyOptions): Promise<ClaimResult[]> {
  if (response.intel_quote !== undefined) return await verifyTdx(response, options);
  if (response.sev_report !== undefined) return verifySev(response, options);
  const nothing = 'There is no evidence: this key was made in software, on a machine that nothing vouches for.';
  return [
    unknown('hardware', nothing),
    unknown('firmware', 'There is no evidence.'),
    unknown('debugging', 'There is no evidence: the operator can read the memory of the model host.'),
    unknown('software', 'There is no evidence.'),
    isOwnAddress(response)
      ? unknown('key', 'The address is that of the key. Nothing says whose key it is.')
      : refuted('key', 'The address is not that of the key.'),
    unknown('nonce', 'There is no evidence that could hold the nonce.'),
  ];
}

async function verifyTdx(response: AttestationResponse, options: VerifyOptions): Promise<ClaimResult[]> {
  const bytes = readBytes(response.intel_quote);
  const quote = bytes === null ? null : parseTdxQuote(bytes);
  if (bytes === null || quote === null) return [refuted('hardware', 'What came as a quote is none.')];
  const holds = verifyTdxQuote(quote, options.nowMs, options.tdxRoot);
  const isGenuine = holds.signatureValid && holds.attestationKeyMatch && holds.certificateChainValid;
  return [
    isGenuine
      ? proven('hardware', 'A processor with TDX signed the quote; its certificates lead to the maker.')
      : refuted('hardware', 'The signatures of the quote do not hold.'),
    await firmwareClaim(bytes, options),
    debugClaim(quote.isDebug, 'TDX debug mode detected'),
    softwareClaim(measurementsOf(quote), options),
    ...bindingClaims(quote.reportData, response, options),
  ];
}

function verifySev(response: AttestationResponse, options: VerifyOptions): ClaimResult[] {
  const bytes = readBytes(response.sev_report);
  const report = bytes === null ? null : parseSevReport(bytes);
  if (report === null) return [refuted('hardware', 'What came as a report is none.')];
  return [
    sevHardwareClaim(report, response, options),
    sevFirmwareClaim(report, options),
    debugClaim(report.isDebug, 'The policy of the guest allows debugging'),
    softwareClaim([report.measurement], options),
    ...bindingClaims(report.reportData, response, options),
  ];
}

function sevHardwareClaim(report: SevReport, response: AttestationResponse, options: VerifyOptions): ClaimResult {
  const certificates = sevCertificatesOf(response.sev_certificates, options.amdCertificates);
  if (certificates === null) return refuted('hardware', 'What came as certificates are none.');
  if (certificates.chain.length === 0) {
    const detail = 'No certificate came with the report. Get that of the chip from the maker, and give it as a file.';
    return unknown('hardware', detail);
  }
  const { signatureValid, certificateChainValid, chipMatch } = verifySevReport(report, certificates, options.nowMs);
  if (!signatureValid) return refuted('hardware', 'The signature of the report does not hold.');
  if (!certificateChainValid) return refuted('hardware', 'The certificates of the report lead to no trusted root.');
  if (!chipMatch) return refuted('hardware', 'The certificate is that of another chip, or of other firmware.');
  const signer =
    report.signedBy === 'operator' ? 'A key that the maker gave the operator (VLEK)' : 'A processor with SEV-SNP';
  return proven('hardware', `${signer} signed the report; its certificates lead to the maker.`);
}

/** `sent`: as the service sent them. `pem`: as the verifier gave them. Null: what came is none. */
export function sevCertificatesOf(sent: unknown, pem = ''): SevCertificates | null {
  try {
    const bytes = sent === undefined ? new Uint8Array() : readBytes(sent);
    if (bytes === null) return null;
    const added = readPemCertificates(pem);
    if (pem !== '' && added.length === 0) return null;
    const roots = added.filter((certificate) => certificate.checkIssued(certificate));
    return { chain: [...readCertificateTable(bytes), ...added], ...(roots.length > 0 && { roots }) };
  } catch {
    return null;
  }
}

function sevFirmwareClaim({ firmware }: SevReport, { minimumFirmware }: VerifyOptions): ClaimResult {
  const found = `boot loader, TEE, SNP and microcode ${firmware.join('.')}`;
  if (minimumFirmware === undefined)
    return unknown('firmware', `No versions were expected. The report states ${found}.`);
  return minimumFirmware.every((minimum, index) => (firmware[index] ?? -1) >= minimum)
    ? proven('firmware', `It is at least what you expect: ${found}.`)
    : refuted('firmware', `It is older than you expect: ${found}.`);
}

async function firmwareClaim(quote: Uint8Array, { firmwareOf }: VerifyOptions): Promise<ClaimResult> {
  if (firmwareOf === undefined) return unknown('firmware', 'No data of the maker was given to compare it with.');
  try {
    const { status, advisories } = await firmwareOf(quote);
    const list = advisories.length === 0 ? '' : ` (${advisories.join(', ')})`;
    return status === 'UpToDate'
      ? proven('firmware', `The maker calls it UpToDate${list}.`)
      : refuted('firmware', `The maker calls it ${status}${list}; UpToDate is required.`);
  } catch (error) {
    return refuted('firmware', `The data of the maker does not hold for the quote: ${(error as Error).message}`);
  }
}

function debugClaim(isDebug: boolean, problem: string): ClaimResult {
  return isDebug
    ? refuted('debugging', `${problem}: whoever runs the machine can read its memory.`)
    : proven('debugging', 'The debug mode is off: the memory of the machine is closed to its operator.');
}

function measurementsOf({ mrTd, rtMr }: TdxQuote): string[] {
  return [mrTd, ...rtMr];
}

function softwareClaim(found: readonly string[], { measurements }: VerifyOptions): ClaimResult {
  if (measurements === undefined || measurements.length === 0) {
    return unknown('software', `No measurements were expected. Those of the evidence: ${found.join(', ')}.`);
  }
  const matches = measurements.every((expected, index) => expected.toLowerCase() === found[index]);
  return matches
    ? proven('software', 'What was loaded is what you expected, as far as you gave measurements.')
    : refuted('software', `Other software was loaded: ${found.join(', ')}.`);
}

function bindingClaims(reportData: Uint8Array, response: AttestationResponse, { nonce }: VerifyOptions): ClaimResult[] {
  const bytes = readNonce(nonce);
  const found = Buffer.from(reportData);
  const expected = bytes === null ? null : Buffer.from(reportDataOf(keyAddress(response) ?? '', bytes));
  const binds = (start: number, end: number) => expected?.subarray(start, end).equals(found.subarray(start, end));
  return [
    isOwnAddress(response) && binds(0, 32) === true
      ? proven('key', 'The evidence holds the address of the signing key: the key was made in that machine.')
      : refuted('key', 'The evidence is about another key.'),
    binds(32, 64) === true
      ? proven('nonce', 'The evidence holds the nonce: it was made after the question.')
      : refuted('nonce', 'The evidence holds another nonce: it may be old.'),
  ];
}

/** The address of the key in a response; null where there is no such key. */
export function keyAddress({ signing_key: key, signing_public_key: olderName }: AttestationResponse): string | null {
  const text = key ?? olderName;
  if (typeof text !== 'string' || !/^(?:04)?[0-9a-f]{128}$/i.test(text)) return null;
  return addressOfPublicKey(Buffer.from(text.length === 128 ? `04${text}` : text, 'hex'));
}

function isOwnAddress(response: AttestationResponse): boolean {
  const address = keyAddress(response);
  return address !== null && address === String(response.signing_address).toLowerCase();
}

/** Quotes travel in several forms. */
function readBytes(text: unknown): Uint8Array | null {
  if (typeof text !== 'string' || text === '') return null;
  if (/^(?:0x)?(?:[0-9a-f]{2})+$/i.test(text)) return Buffer.from(text.replace(/^0x/, ''), 'hex');
  return /^[\w+/-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : null;
}
