import type { Readable } from 'node:stream';

export interface RemoteRequest {
  url: string;
  /** The account that asks, or a name for what the operator configured. Lookups of names are shared between owners. */
  owner: string;
  /** Maximum body size in bytes; more fails with `PAYLOAD_TOO_LARGE`. */
  maxBytes: number;
  /** `image/png`, or `image/*` for a whole kind. Default: any. */
  contentTypes?: readonly string[];
  /** From the first lookup to the last byte, in ms. Default 30 s. */
  timeoutMs?: number;
  /** Each redirect target is checked like the first URL. Default 3; 0 rejects all. */
  maxRedirects?: number;
  /** Sent with every request; nothing from the client's own request. */
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON with POST, to services that the operator named; only without redirects. Default: GET. */
  json?: object;
  /** Field to name in errors. */
  param?: string;
  signal?: AbortSignal;
}

/** Cause of the error for a response with another status than 200. */
export class RemoteStatus extends Error {
  override readonly name = 'RemoteStatus';

  constructor(readonly status: number) {
    super(`status ${status}`);
  }
}

export interface RemoteStream {
  /** URL after redirects. */
  url: string;
  /** Lower case, without parameters; empty if the server sends none. */
  contentType: string;
  /** Encoding named with the content type, in lower case; empty if there is none. */
  charset: string;
  /** Length announced by the server; null without one. */
  totalBytes: number | null;
  /** Fails with a `PlatformError` when it breaks off or grows too large. Destroy it to stop early. */
  body: Readable;
}

export interface RemoteFile {
  url: string;
  contentType: string;
  /** As in `RemoteStream`. */
  charset: string;
  bytes: Buffer;
}
