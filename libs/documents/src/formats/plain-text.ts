import { DocumentFault } from '../document-fault.js';
import type { TextSink } from '../text-sink.js';

/** Bytes looked at for the encoding. */
const sampleBytes = 64 * 1024;
/** A share of control characters above this is not text. */
const maxControlShare = 0.02;
/** Share of zero bytes at even or odd positions that only UTF-16 has. */
const utf16ZeroShare = 0.3;
const charactersAtOnce = 64 * 1024;

/**
 * Returns the encoding of a text: by its byte order mark, as UTF-16 by its zero bytes, as UTF-8 if it is valid,
 * otherwise Windows-1252, which holds Latin-1. Null if the bytes are no text.
 */
export function encodingOfText(bytes: Buffer): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  const sample = bytes.subarray(0, sampleBytes);
  const wide = wideEncodingOf(sample);
  if (wide !== null) return looksLikeText(new TextDecoder(wide).decode(sample)) ? wide : null;
  const encoding = isUtf8(bytes) ? 'utf-8' : 'windows-1252';
  return looksLikeText(new TextDecoder(encoding).decode(sample)) ? encoding : null;
}

/** Writes a text of any supported encoding with unified line ends. Throws `DocumentFault` for bytes that are no text. */
export function extractPlainText(bytes: Buffer, sink: TextSink): void {
  const encoding = encodingOfText(bytes);
  if (encoding === null) throw new DocumentFault('is not text');
  const text = new TextDecoder(encoding).decode(bytes).replaceAll(/\r\n?/g, '\n');
  for (let start = 0; start < text.length; start += charactersAtOnce) {
    sink.write(text.slice(start, start + charactersAtOnce));
  }
}

function wideEncodingOf(sample: Buffer): string | null {
  const units = Math.floor(sample.length / 2);
  if (units === 0) return null;
  let even = 0;
  let odd = 0;
  for (let index = 0; index < units; index += 1) {
    if (sample[2 * index] === 0) even += 1;
    if (sample[2 * index + 1] === 0) odd += 1;
  }
  if (odd / units > utf16ZeroShare && even / units < maxControlShare) return 'utf-16le';
  return even / units > utf16ZeroShare && odd / units < maxControlShare ? 'utf-16be' : null;
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Whether a text has almost no control characters besides white space. */
function looksLikeText(text: string): boolean {
  // eslint-disable-next-line no-control-regex -- they are what is counted
  const controls = text.match(/[\u0000-\u0008\u000e-\u001a\u001c-\u001f\u007f]/g)?.length ?? 0;
  return !text.includes('\u0000') && controls <= text.length * maxControlShare;
}
