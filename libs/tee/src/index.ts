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
export { type SevSignature, verifySevReport } from './quotes/verify-sev-report.js';
export { parseTdxQuote, type TdxQuote } from './quotes/tdx-quote.js';
export { type QuoteSignature, verifyTdxQuote } from './quotes/verify-tdx-quote.js';
export { type NonceMethod, nonceMethodOf, readNonce, reportDataOf } from './report-data.js';
export { parseSignedText, type SignedExchange, signedText } from './signed-text.js';
export { type ClaimName, claimNames, type ClaimResult } from './verification/claim.js';
export { type CollateralSource, openFirmwareCheck } from './verification/firmware-status.js';
export {
  type AttestationResponse,
  sevCertificatesOf,
  verifyAttestation,
  type VerifyOptions,
} from './verification/verify-attestation.js';
export { type Exchange, type SignatureResponse, verifyExchange } from './verification/verify-exchange.js';
export { verifyReceipt } from './verification/verify-receipt.js';
export { canonicalJson } from './receipts/canonical-json.js';
export type { EndorsedKeyset, WorkloadKeyset } from './receipts/receipt.js';
export { createReceiptSigner, digestOf, type ReceiptSigner, workloadIdOf } from './receipts/workload.js';
