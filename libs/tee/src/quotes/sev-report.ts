import { bytesToHex } from '@noble/hashes/utils';

/** What an SEV-SNP report says; nothing of it is verified by reading it. */
export interface SevReport {
  readonly version: number;
  /** The host may look into a guest whose policy allows debugging. */
  readonly isDebug: boolean;
  readonly reportData: Uint8Array;
  /** Measurement of the guest at its launch, as hex. */
  readonly measurement: string;
  /** Versions of the firmware that the signing key is for: boot loader, TEE, SNP, microcode. */
  readonly firmware: readonly number[];
  /** Of the processor, 64 bytes; zeros where it is masked. */
  readonly chipId: Uint8Array;
  /** Whose key signed: that of the chip (VCEK), or that of the operator of its host (VLEK). */
  readonly signedBy: 'chip' | 'operator' | 'other';
  /** All that the signature covers. */
  readonly signedBytes: Uint8Array;
  /** On P-384: two numbers of 48 bytes, big-endian. */
  readonly signature: Uint8Array;
}

const reportBytes = 1_184;
const debugBit = 1n << 19n;

/** Offsets in a report. */
const signingKeyAt = 0x48;
const firmwareAt = 0x180;
const familyAt = 0x188;
const chipIdAt = 0x1a0;
const signatureAt = 0x2a0;

/** A number of the signature has 72 bytes, little-endian, of which 48 are used. */
const numberBytes = 72;

/** Family of the processors (Turin) from which on the firmware has one more version at its front. */
const turinFamily = 0x1a;

/** Returns null for bytes that are no report of version 2 or later. */
export function parseSevReport(bytes: Uint8Array): SevReport | null {
  if (bytes.length !== reportBytes) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint32(0, true);
  if (version < 2 || version > 16) return null;
  const signer = (view.getUint32(signingKeyAt, true) >> 2) & 7;
  return {
    version,
    isDebug: (view.getBigUint64(8, true) & debugBit) !== 0n,
    reportData: bytes.slice(0x50, 0x90),
    measurement: bytesToHex(bytes.subarray(0x90, 0xc0)),
    firmware: firmwareVersions(bytes, version),
    chipId: bytes.slice(chipIdAt, chipIdAt + 64),
    signedBy: signer === 0 ? 'chip' : signer === 1 ? 'operator' : 'other',
    signedBytes: bytes.subarray(0, signatureAt),
    signature: Buffer.concat(
      [signatureAt, signatureAt + numberBytes].map((at) => bytes.subarray(at, at + 48).toReversed()),
    ),
  };
}

/** Reports name the family of the processor from version 3 on; earlier processors have no other form. */
function firmwareVersions(bytes: Uint8Array, version: number): number[] {
  const isTurin = version >= 3 && (bytes[familyAt] ?? 0) >= turinFamily;
  const offsets = isTurin ? [1, 2, 3, 7] : [0, 1, 6, 7];
  return offsets.map((offset) => bytes[firmwareAt + offset] ?? 0);
}
