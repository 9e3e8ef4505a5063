import { bytesToHex } from '@noble/hashes/utils';
import { EvidenceError, type EvidenceReader, type TeeProvider } from './evidence/evidence.js';
import { readGpuEvidence } from './evidence/gpu-evidence.js';
import { localMachine, type Machine } from './evidence/machine.js';
import type { HostIdentity } from './host-identity.js';
import type { EndorsedKeyset } from './receipts/receipt.js';
import type { ReceiptSigner } from './receipts/workload.js';
import { type NonceMethod, nonceMethodOf, reportDataOf } from './report-data.js';

/** What a host says about its key for one nonce. */
export interface HostAttestation {
  readonly publicKey: string;
  readonly address: string;
  readonly provider: TeeProvider;
  readonly nonceMethod: NonceMethod;
  /** The keys that sign receipts. Absent: the host is of an earlier version. */
  readonly workload?: EndorsedKeyset;
  /** Base64. Absent: there is no evidence. */
  readonly quote?: string;
  /** Base64; as in `Evidence`. */
  readonly certificates?: string;
  readonly eventLog?: string;
  /** Evidence of the GPUs for the bytes 32 to 63 of the report data. Absent: none was read. */
  readonly gpus?: readonly object[];
}

interface AttestedParts {
  readonly identity: Pick<HostIdentity, 'publicKey' | 'address'>;
  readonly receipts?: Pick<ReceiptSigner, 'keysetAt'>;
  readonly reader: EvidenceReader | null;
}

/** Reads evidence for the key of a host and a nonce of 16 or 32 bytes. Rejects with an `EvidenceError`. */
export async function attestHost(
  { identity, receipts, reader }: AttestedParts,
  nonce: Uint8Array,
  machine: Machine = localMachine,
): Promise<HostAttestation> {
  const { publicKey, address } = identity;
  const workload = receipts?.keysetAt(Date.now());
  const keys = {
    publicKey,
    address,
    nonceMethod: nonceMethodOf(nonce),
    ...(workload && { workload: endorsedOf(workload) }),
  };
  if (reader === null) return { ...keys, provider: 'software' };
  const reportData = reportDataOf(address, nonce);
  const [{ quote, certificates, eventLog }, gpus] = await Promise.all([
    reader.read(reportData),
    readGpuEvidence(machine, bytesToHex(reportData.subarray(32))).catch(notConfidential),
  ]);
  return {
    ...keys,
    provider: reader.provider,
    quote: base64(quote),
    ...(certificates !== undefined && { certificates: base64(certificates) }),
    ...(eventLog !== undefined && { eventLog }),
    ...(gpus !== null && { gpus }),
  };
}

/** A GPU without a confidential mode is no reason to withhold what the processor proves; its evidence is then missing. */
function notConfidential(error: unknown): null {
  if (error instanceof EvidenceError) return null;
  throw error;
}

function endorsedOf({ keyset, endorsement }: EndorsedKeyset): EndorsedKeyset {
  return { keyset, endorsement };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
