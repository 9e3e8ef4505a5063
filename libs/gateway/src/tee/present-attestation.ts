import type { EndorsedKeyset, HostAttestation, NonceMethod, SevReport, TdxQuote } from '#tee';
import type { TeeAttestationResponse } from './tee.response.js';

type Tee = typeof import('#tee');

/** An answer of a model host, and what was asked. */
export interface AttestedHost {
  attestation: HostAttestation;
  model: string;
  /** 32 or 64 hex characters. */
  nonce: string;
}

/** Reads the evidence of a host as its client will, and says what holds. `tee`: the library, which is loaded on demand. */
export function presentAttestation({ attestation, model, nonce }: AttestedHost, tee: Tee): TeeAttestationResponse {
  const startedAtMs = performance.now();
  const nowMs = Date.now();
  const { provider, quote, certificates, eventLog, gpus, publicKey, address, nonceMethod } = attestation;
  const bytes = Buffer.from(quote ?? '', 'base64');
  const tdxQuote = provider === 'tdx' ? tee.parseTdxQuote(bytes) : null;
  const sevReport = provider === 'sev-snp' ? tee.parseSevReport(bytes) : null;
  const reportData = (tdxQuote ?? sevReport)?.reportData ?? null;
  const bindings = bindingsOf({ reportData, address, nonce, nonceMethod }, tee);
  const tdx = provider === 'tdx' ? verifyTdx(tdxQuote, nowMs, tee) : null;
  const sev = provider === 'sev-snp' ? verifySev({ report: sevReport, certificates, nowMs }, tee) : null;
  const isGenuine = tdx?.valid === true || sev?.valid === true;
  const { signingAddressBinding, nonceBinding } = bindings;
  return {
    verified: isGenuine && signingAddressBinding.bound && nonceBinding.bound,
    nonce,
    model,
    tee_provider: provider,
    ...(provider === 'tdx' && quote !== undefined && { intel_quote: quote }),
    ...(provider === 'sev-snp' && quote !== undefined && { sev_report: quote }),
    ...(certificates !== undefined && { sev_certificates: certificates }),
    ...(eventLog !== undefined && { event_log: eventLog }),
    nvidia_payload: gpus === undefined ? null : gpuPayload(gpus),
    signing_key: publicKey,
    signing_public_key: publicKey,
    signing_address: address,
    signing_algo: 'ecdsa',
    ...(attestation.workload !== undefined && workloadMembers(attestation.workload, tee)),
    server_verification: {
      ...(tdx !== null && { tdx }),
      ...(sev !== null && { sev }),
      ...bindings,
      verifiedAt: new Date(nowMs).toISOString(),
      verificationDurationMs: Math.round(performance.now() - startedAtMs),
    },
  };
}

/** The keys that sign receipts, and the signature of the attested key over them. */
function workloadMembers({ keyset, endorsement }: EndorsedKeyset, tee: Tee) {
  return {
    workload_id: tee.workloadIdOf(keyset),
    workload_keyset_digest: tee.digestOf(keyset),
    attestation: {
      workload_keyset: keyset,
      keyset_endorsement: { algo: keyset.workload_identity.public_key.algo, value: endorsement },
    },
  };
}

function verifyTdx(quote: TdxQuote | null, nowMs: number, tee: Tee) {
  const none = { signatureValid: false, attestationKeyMatch: false, certificateChainValid: false };
  const { signatureValid, certificateChainValid, attestationKeyMatch } =
    quote === null ? none : tee.verifyTdxQuote(quote, nowMs);
  const holds = signatureValid && certificateChainValid && attestationKeyMatch;
  const problem = quote?.isDebug === true ? 'TDX debug mode detected' : 'the quote does not hold';
  const valid = holds && quote?.isDebug === false;
  return { valid, signatureValid, certificateChainValid, attestationKeyMatch, error: valid ? null : problem };
}

interface SevFacts {
  report: SevReport | null;
  certificates: string | undefined;
  nowMs: number;
}

function verifySev({ report, certificates, nowMs }: SevFacts, tee: Tee) {
  const none = { signatureValid: false, certificateChainValid: false, chipMatch: false };
  const known = tee.sevCertificatesOf(certificates);
  const holds = report === null || known === null ? none : tee.verifySevReport(report, known, nowMs);
  const { signatureValid, certificateChainValid, chipMatch } = holds;
  const isGenuine = signatureValid && certificateChainValid && chipMatch;
  const valid = isGenuine && report?.isDebug === false;
  const missing = certificates === undefined ? 'no certificates came with the report' : 'the report does not hold';
  const problem = isGenuine ? 'the policy of the guest allows debugging' : missing;
  return { valid, signatureValid, certificateChainValid, chipMatch, error: valid ? null : problem };
}

interface BoundFacts {
  reportData: Uint8Array | null;
  address: string;
  nonce: string;
  nonceMethod: NonceMethod;
}

/** A response without evidence binds nothing. */
function bindingsOf({ reportData, address, nonce, nonceMethod }: BoundFacts, tee: Tee) {
  const found = reportData === null ? null : Buffer.from(reportData);
  const expected = Buffer.from(tee.reportDataOf(address, Buffer.from(nonce, 'hex')));
  return {
    signingAddressBinding: {
      bound: found?.subarray(0, 32).equals(expected.subarray(0, 32)) === true,
      reportDataAddress: found === null ? null : `0x${found.subarray(0, 20).toString('hex')}`,
    },
    nonceBinding: { bound: found?.subarray(32).equals(expected.subarray(32)) === true, method: nonceMethod },
  };
}

/** The form in which the maker's verification service takes it. */
function gpuPayload(gpus: readonly object[]): string {
  const known = gpus as readonly { nonce?: unknown; arch?: unknown; evidence?: unknown; certificate?: unknown }[];
  const [first] = known;
  const evidenceList = known.map(({ evidence, certificate }) => ({ evidence, certificate }));
  return JSON.stringify({ nonce: first?.nonce, arch: first?.arch, evidence_list: evidenceList });
}
