import { crc32, gunzipSync, gzipSync } from 'node:zlib';
import { type Format, formats } from './formats.js';

type Change = (bytes: Buffer) => Buffer;

/** Most of a model is weights, of which every value is valid. */
const modelHeadBytes = 2_048;

/** Changes a file so that its decoder reads beyond its checksums, and a model in its header. */
export function checksummed(format: Format, original: Buffer, change: Change): Buffer {
  if (format === 'tgz') return gzipSync(change(gunzipSync(original)));
  if (['model', 'added'].includes(formats[format].reader)) {
    return Buffer.concat([change(original.subarray(0, modelHeadBytes)), original.subarray(modelHeadBytes)]);
  }
  const changed = Buffer.from(change(original));
  return format === 'png' ? withPngChecksums(changed) : changed;
}

const signatureBytes = 8;
/** Length and name before the data of a chunk; the checksum covers name and data. */
const chunkHeadBytes = 8;

function withPngChecksums(bytes: Buffer): Buffer {
  for (let offset = signatureBytes; offset + chunkHeadBytes <= bytes.length;) {
    const end = offset + chunkHeadBytes + bytes.readUInt32BE(offset);
    if (end + 4 > bytes.length) break;
    bytes.writeUInt32BE(crc32(bytes.subarray(offset + 4, end)), end);
    offset = end + 4;
  }
  return bytes;
}
