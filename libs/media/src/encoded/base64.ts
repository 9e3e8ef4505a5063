import { PlatformError } from '#common';
import { trimEndOf } from '#platform/text';

export interface EncodedLimits {
  /** Bytes after decoding; more fail with `PAYLOAD_TOO_LARGE`. */
  maxBytes: number;
  /** Field to name in errors. */
  param?: string;
  /** True to allow empty content. Default false: `INVALID_REQUEST`. */
  mayBeEmpty?: boolean;
}

/** A parsed `data:` URL. */
export interface DataUrl {
  /** Lower case, without parameters; empty if the URL has none. */
  contentType: string;
  bytes: Buffer;
}

const alphabet = /^[A-Za-z0-9+/_-]*={0,2}$/;
const lineBreaks = /[\r\n\t ]+/g;
/** Browsers put the codecs of a recording into its type without quotes: `video/webm;codecs=vp8,opus;base64,`. */
const listedCodecs = /^data:([^,;]{0,127});codecs=[^;]{0,127}(;base64),/i;
const percentEncoded = /%[0-9a-f]{2}/gi;
const header = /^data:([^,;]{0,127})((?:;[^,;]{0,127}){0,4}),/i;

/**
 * Decodes base64, plain or URL-safe, padded or not, with line breaks. Throws `INVALID_REQUEST` for other characters,
 * and `PAYLOAD_TOO_LARGE` by the length alone before decoding.
 */
export function decodeBase64(text: string, { maxBytes, param, mayBeEmpty = false }: EncodedLimits): Buffer {
  if (text.length > longestText(maxBytes)) throw tooLarge(maxBytes, param);
  const compact = lineBreaks.test(text) ? text.replace(lineBreaks, '') : text;
  if (!alphabet.test(compact)) throw invalid('is not valid base64', param);
  const digits = trimEndOf(compact, '=').length;
  if (digits % 4 === 1) throw invalid('is not valid base64: it was cut off', param);
  const bytes = Math.floor((digits * 3) / 4);
  if (bytes > maxBytes) throw tooLarge(maxBytes, param);
  if (bytes === 0 && !mayBeEmpty) throw invalid('is empty', param);
  return Buffer.from(compact, 'base64');
}

/** A line break after every 76 characters is usual; text of only line breaks is not copied. */
function longestText(maxBytes: number): number {
  return (maxBytes * 4) / 3 + 4 + maxBytes / 8 + 1_024;
}

export function isDataUrl(text: string): boolean {
  return text.slice(0, 5).toLowerCase() === 'data:';
}

/**
 * Decodes a `data:` URL with base64 content, whose characters may be percent-encoded as in any URL. Fails like
 * `decodeBase64`.
 */
export function decodeDataUrl(text: string, limits: EncodedLimits): DataUrl {
  const head = text.slice(0, 1_024);
  const [prefix, contentType, parameters] = listedCodecs.exec(head) ?? header.exec(head) ?? [];
  if (prefix === undefined) throw invalid('is not a valid data URL', limits.param);
  const isBase64 = (parameters ?? '').toLowerCase().split(';').includes('base64');
  if (!isBase64) throw invalid('must be a data URL with base64 content', limits.param);
  return {
    contentType: (contentType ?? '').trim().toLowerCase(),
    bytes: decodeBase64(percentDecoded(text, prefix.length, limits), limits),
  };
}

/** Decodes base64 or a data URL, as clients send images and audio; `contentType` is empty for bare base64. */
export function decodeInline(text: string, limits: EncodedLimits): DataUrl {
  if (isDataUrl(text)) return decodeDataUrl(text, limits);
  return { contentType: '', bytes: decodeBase64(text, limits) };
}

/** The content of a data URL from a position on. Each character of base64 takes up to three characters of a URL. */
function percentDecoded(text: string, from: number, { maxBytes, param }: EncodedLimits): string {
  if (!text.includes('%', from)) return text.slice(from);
  if (text.length > 3 * longestText(maxBytes)) throw tooLarge(maxBytes, param);
  return text.slice(from).replaceAll(percentEncoded, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)));
}

function named(param: string | undefined): string {
  return param ?? 'The content';
}

function invalid(problem: string, param: string | undefined): PlatformError {
  return new PlatformError('INVALID_REQUEST', `${named(param)} ${problem}.`, param ?? null);
}

function tooLarge(maxBytes: number, param: string | undefined): PlatformError {
  const message = `${named(param)} is larger than ${maxBytes} bytes.`;
  return new PlatformError('PAYLOAD_TOO_LARGE', message, param ?? null);
}
