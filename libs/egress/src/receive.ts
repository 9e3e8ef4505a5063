import { pipeline, type Readable, Transform } from 'node:stream';
import type { Dispatcher } from 'undici';
import { refusedUrl, remoteTooLarge } from './egress-error.js';
import { type RemoteRequest, RemoteStatus, type RemoteStream } from './remote-file.js';

/** Checks the head of a response and returns its body with a byte limit. Throws what is wrong with it. */
export function receive(
  url: URL,
  { statusCode, headers, body }: Dispatcher.ResponseData,
  request: RemoteRequest,
  explain: (error: unknown) => Error,
): RemoteStream {
  const { maxBytes, contentTypes, param = null } = request;
  try {
    if (statusCode !== 200) {
      throw refusedUrl(`answered with status ${statusCode}`, param, new RemoteStatus(statusCode));
    }
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity') throw refusedUrl('answers compressed although it was asked not to', param);
    const announced = String(headers['content-type'] ?? '').toLowerCase();
    const contentType = announced.split(';', 1).join('').trim();
    const charset = /;\s*charset\s*=\s*"?([\w.:-]{1,40})/.exec(announced)?.[1] ?? '';
    if (contentTypes !== undefined && !contentTypes.some((wanted) => fits(contentType, wanted))) {
      throw refusedUrl(`leads to content of another type than ${contentTypes.join(', ')}`, param);
    }
    const length = Number(headers['content-length'] ?? Number.NaN);
    if (length > maxBytes) throw remoteTooLarge(maxBytes, param);
    const totalBytes = Number.isFinite(length) ? length : null;
    return { url: url.href, contentType, charset, totalBytes, body: capped(body, { maxBytes, param, explain }) };
  } catch (error) {
    body.destroy();
    throw error;
  }
}

function fits(contentType: string, wanted: string): boolean {
  return wanted.endsWith('/*') ? contentType.startsWith(wanted.slice(0, -1)) : contentType === wanted;
}

/** Counts bytes, and translates stream errors. */
function capped(
  body: Readable,
  { maxBytes, param, explain }: { maxBytes: number; param: string | null; explain: (error: unknown) => Error },
): Readable {
  let bytes = 0;
  const counter = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length;
      done(bytes > maxBytes ? remoteTooLarge(maxBytes, param) : null, chunk);
    },
  });
  body.once('error', (error) => counter.destroy(explain(error)));
  pipeline(body, counter, () => undefined);
  return counter;
}
