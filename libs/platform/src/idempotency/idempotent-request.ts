import { createHash, type Hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

/*
 * State of a request with an `Idempotency-Key`, shared by hooks, body parsers and response writers
 * (docs/guides/idempotency.md). Both fields are null on other requests.
 */
declare module 'fastify' {
  interface FastifyRequest {
    /** Set on billed routes; parsers add the body they read. */
    fingerprint: RequestFingerprint | null;
    /** Set while the first response is produced; code that writes past Fastify must record it here too. */
    responseRecording: ResponseRecording | null;
  }
}

/**
 * Identifies equal requests by the route and the body as read. A JSON body counts by its bytes; for a multipart body
 * each name and content counts, because boundaries differ between requests.
 */
export class RequestFingerprint {
  private readonly hash: Hash = createHash('sha256');

  constructor(readonly key: string) {}

  /** Each call adds a separate part: `ab`, `c` differs from `a`, `bc`. */
  add(part: string | Uint8Array): void {
    this.hash.update(`${typeof part === 'string' ? Buffer.byteLength(part) : part.byteLength}:`).update(part);
  }

  /** Returns the sha256; nothing can be added afterwards. */
  digest(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.hash.digest());
  }
}

/** How a response ended: complete, or after its status line with a server error. */
export type ResponseEnding = 'whole' | 'failed';

/** Records a response byte for byte while it is sent. A response too long to store is dropped without an error. */
export interface ResponseRecording {
  begin(status: number, headers: Record<string, unknown>): void;
  add(bytes: string | Uint8Array): void;
  /**
   * Resolves when the response is stored or cannot be, after a second at most. Without this call the response counts as
   * cut.
   */
  end(ending: ResponseEnding): Promise<void>;
}

/** Adds the received body to the request's fingerprint, if it has one. */
export function fingerprintBody(request: FastifyRequest, ...parts: (string | Uint8Array)[]): void {
  for (const part of parts) request.fingerprint?.add(part);
}
