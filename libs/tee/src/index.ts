export { EvidenceError, type EvidenceReader, type TeeProvider, teeProviders } from './evidence/evidence.js';
export type { Machine } from './evidence/machine.js';
export { openEvidence, type TeeChoice } from './evidence/open-evidence.js';
export { attestHost, type HostAttestation } from './host-attestation.js';
export {
  addressOfPublicKey,
  createHostIdentity,
  type HostIdentity,
  identityOf,
  recoverAddress,
} from './host-identity.js';
export { parseSevReport, type SevReport } from './quotes/sev-report.js';
export { parseTdxQuote, type TdxQuote } from './quotes/tdx-quote.js';
export { type NonceMethod, nonceMethodOf, readNonce, reportDataOf } from './report-data.js';
export { parseSignedText, type SignedExchange, signedText } from './signed-text.js';
