import { bytesToHex } from '@noble/hashes/utils';

/** What a TDX quote says; nothing of it is verified by reading it. */
export interface TdxQuote {
  readonly version: number;
  /** Others may look into a machine whose debug attribute is set. */
  readonly isDebug: boolean;
  readonly reportData: Uint8Array;
  /** Measurement of the machine's first contents, as hex. */
  readonly mrTd: string;
  /** Run-time measurements 0 to 3, as hex. */
  readonly rtMr: readonly string[];
  /** All that the quote's own signature covers. */
  readonly signedBytes: Uint8Array;
  /** What follows: the signature, the keys and the certificates. */
  readonly authentication: Uint8Array;
}

const headerBytes = 48;
const tdxType = 0x81;
const ecdsaP256 = 2;
/** Of a TD report 1.0; later ones begin alike. */
const bodyBytes = 584;
/** By the type that version 5 states: reports 1.0, 1.5 and 1.5 extended. */
const bodyBytesByType: ReadonlyMap<number, number> = new Map([
  [2, bodyBytes],
  [3, 648],
  [4, 885],
]);

/** Offsets in the body. */
const attributesAt = 120;
const mrTdAt = 136;
const rtMrAt = 328;
const reportDataAt = 520;
const measurementBytes = 48;

/** Returns null for bytes that are no TDX quote of version 4 or 5. Sizes in the bytes only compare with what is there. */
export function parseTdxQuote(bytes: Uint8Array): TdxQuote | null {
  if (bytes.length < headerBytes + 6) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint16(0, true);
  if (view.getUint16(2, true) !== ecdsaP256 || view.getUint32(4, true) !== tdxType) return null;
  const span = bodySpan(version, view);
  if (span === null || bytes.length < span.end + 4) return null;
  const authenticationBytes = view.getUint32(span.end, true);
  if (bytes.length < span.end + 4 + authenticationBytes) return null;
  const body = bytes.subarray(span.start, span.end);
  const measurement = (at: number) => bytesToHex(body.subarray(at, at + measurementBytes));
  return {
    version,
    isDebug: ((body[attributesAt] ?? 1) & 1) === 1,
    reportData: body.slice(reportDataAt, reportDataAt + 64),
    mrTd: measurement(mrTdAt),
    rtMr: [0, 1, 2, 3].map((index) => measurement(rtMrAt + index * measurementBytes)),
    signedBytes: bytes.subarray(0, span.end),
    authentication: bytes.subarray(span.end + 4, span.end + 4 + authenticationBytes),
  };
}

/** Version 5 states the type and the size of the body; version 4 has one kind. */
function bodySpan(version: number, view: DataView): { start: number; end: number } | null {
  if (version === 4) return { start: headerBytes, end: headerBytes + bodyBytes };
  if (version !== 5) return null;
  const start = headerBytes + 6;
  const length = bodyBytesByType.get(view.getUint16(headerBytes, true));
  return length === undefined ? null : { start, end: start + length };
}
