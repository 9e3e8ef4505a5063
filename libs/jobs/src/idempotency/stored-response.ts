import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';

/** A response as it is stored and replayed. */
export interface StoredResponse {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

const plain = 0;
const zipped = 1;
const prefixBytes = 5;
const textual = /^(text\/|application\/(json|[\w.+-]+\+json))/;

const zip = promisify(gzip);
const unzip = promisify(gunzip);

/** One byte string: whether it is compressed, the length of the head as JSON, the head, the body. */
export async function packResponse({ status, headers, body }: StoredResponse): Promise<Buffer> {
  const head = Buffer.from(JSON.stringify({ status, headers }));
  const isText = textual.test(headers['content-type'] ?? '');
  // Chunks of a stream repeat nearly everything; images and audio are compressed already.
  const content = isText ? await zip(body, { level: constants.Z_BEST_SPEED }) : body;
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt8(isText ? zipped : plain, 0);
  prefix.writeUInt32BE(head.length, 1);
  return Buffer.concat([prefix, head, content]);
}

/** Throws on bytes that `packResponse` did not write. */
export async function unpackResponse(bytes: Buffer): Promise<StoredResponse> {
  const headEnd = prefixBytes + bytes.readUInt32BE(1);
  const head = JSON.parse(bytes.toString('utf8', prefixBytes, headEnd)) as Omit<StoredResponse, 'body'>;
  const content = bytes.subarray(headEnd);
  return { ...head, body: bytes.readUInt8(0) === zipped ? await unzip(content) : content };
}
