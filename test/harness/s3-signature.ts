import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/*
 * Verifies a request's signature like S3 (version 4, in the header), from the published rules and independently of the
 * signing code: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 */

export interface S3Keys {
  accessKeyId: string;
  secretAccessKey: string;
}

const algorithm = 'AWS4-HMAC-SHA256';
const pattern =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;

/** Returns the signature error, or null if it is valid. */
export function signatureFault(
  { method = '', url = '', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  { accessKeyId, secretAccessKey }: S3Keys,
): string | null {
  const [, id, day = '', region = '', names = '', signature = ''] = pattern.exec(headers.authorization ?? '') ?? [];
  if (id === undefined) return 'there is no signature of version 4';
  if (id !== accessKeyId) return 'the key is unknown';
  const signed = names.split(';');
  const date = header(headers, 'x-amz-date');
  if (!date.startsWith(day)) return 'the days differ';
  for (const name of ['host', 'x-amz-content-sha256', 'x-amz-date']) {
    if (!signed.includes(name)) return `${name} is not signed`;
  }
  const [path = '', query = ''] = url.split('?');
  const canonical = [
    method,
    path,
    query.split('&').filter(Boolean).map(withEquals).toSorted(inByteOrder).join('&'),
    ...signed.map((name) => `${name}:${header(headers, name).trim().replaceAll(/ +/g, ' ')}`),
    '',
    names,
    header(headers, 'x-amz-content-sha256'),
  ].join('\n');
  const text = [algorithm, date, `${day}/${region}/s3/aws4_request`, sha256(canonical)].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<Buffer | string>(hmac, `AWS4${secretAccessKey}`);
  const wanted = hmac(key, text);
  return timingSafeEqual(wanted, Buffer.from(signature, 'hex')) ? null : 'the signature does not match';
}

function header(headers: IncomingMessage['headers'], name: string): string {
  return [headers[name] ?? ''].flat().join(',');
}

function withEquals(parameter: string): string {
  return parameter.includes('=') ? parameter : `${parameter}=`;
}

function inByteOrder(left: string, right: string): number {
  return left < right ? -1 : 1;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: Buffer | string, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
