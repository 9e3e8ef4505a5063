import type { Readable } from 'node:stream';

export interface RemoteRequest {
  url: string;
  /** Bytes of the body; one more fails with `PAYLOAD_TOO_LARGE`. */
  maxBytes: number;
  /** `image/png`, or `image/*` for all of a kind. Default: any. */
  contentTypes?: readonly string[];
  /** From the first look-up to the last byte, in ms. Default 30 s. */
  timeoutMs?: number;
  /** Each is judged as the first URL was. Default 3; 0 refuses any. */
  maxRedirects?: number;
  /** Sent with every request of the way; nothing of the caller's own. */
  headers?: Readonly<Record<string, string>>;
  /** Field to name in errors. */
  param?: string;
  signal?: AbortSignal;
}

export interface RemoteStream {
  /** Where it was found in the end. */
  url: string;
  /** Lower case, without parameters; empty when the server names none. */
  contentType: string;
  /** As the server says it; null when it does not. */
  totalBytes: number | null;
  /** Fails with a `PlatformError` when it breaks off or grows too large. Destroy it when you stop early. */
  body: Readable;
}

export interface RemoteFile {
  url: string;
  contentType: string;
  bytes: Buffer;
}
