import { bytesToHex } from '@noble/hashes/utils';

/** What an SEV-SNP report says; nothing of it is verified by reading it. */
export interface SevReport {
  readonly version: number;
  /** The host may look into a guest whose policy allows debugging. */
  readonly isDebug: boolean;
  readonly reportData: Uint8Array;
  /** Measurement of the guest at its launch, as hex. */
  readonly measurement: string;
}

const reportBytes = 1_184;
const debugBit = 1n << 19n;

/** Returns null for bytes that are no report of version 2 or later. */
export function parseSevReport(bytes: Uint8Array): SevReport | null {
  if (bytes.length !== reportBytes) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint32(0, true);
  if (version < 2 || version > 16) return null;
  return {
    version,
    isDebug: (view.getBigUint64(8, true) & debugBit) !== 0n,
    reportData: bytes.slice(0x50, 0x90),
    measurement: bytesToHex(bytes.subarray(0x90, 0xc0)),
  };
}
