const apeHeaderBytes = 32;
const id3HeaderBytes = 10;

/** Bytes that tell the length of any tag. */
export const maxTagHeaderBytes = apeHeaderBytes;

/** Returns the length of the tag at the start of `bytes`, as it states it: ID3v2 or APE; 0 without. */
export function tagBytes(bytes: Buffer): number {
  if (bytes.length >= id3HeaderBytes && bytes.toString('latin1', 0, 3) === 'ID3') return id3Bytes(bytes);
  if (bytes.length < apeHeaderBytes || bytes.toString('latin1', 0, 8) !== 'APETAGEX') return 0;
  return apeHeaderBytes + bytes.readUInt32LE(12);
}

function id3Bytes(bytes: Buffer): number {
  const size = [6, 7, 8, 9].reduce((sum, index) => sum * 128 + ((bytes[index] ?? 0) & 0x7f), 0);
  const hasFooter = ((bytes[5] ?? 0) & 0x10) !== 0;
  return id3HeaderBytes + size + (hasFooter ? id3HeaderBytes : 0);
}
