import { createHash, type Hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

/*
 * What the hooks of the api, the parsers of bodies and the writers of answers tell each other about a request with an
 * `Idempotency-Key` (docs/idempotency.md). Both fields are null on every other request.
 */
declare module 'fastify' {
  interface FastifyRequest {
    /** Of a billed route: parsers add what they read of the body. */
    fingerprint: RequestFingerprint | null;
    /** Set while the first answer is made: whoever writes past Fastify puts it on tape as well. */
    responseTape: ResponseTape | null;
  }
}

/**
 * What makes two requests the same: the route, and the body as it was read. A body of JSON is its bytes; of one that
 * is put together from parts, as multipart, every name and content is a part, since the borders between them differ
 * from request to request.
 */
export class RequestFingerprint {
  private readonly hash: Hash = createHash('sha256');

  constructor(readonly key: string) {}

  /** Each call is a part of its own: `ab`, `c` is not `a`, `bc`. */
  add(part: string | Uint8Array): void {
    this.hash.update(`${typeof part === 'string' ? Buffer.byteLength(part) : part.byteLength}:`).update(part);
  }

  /** sha256; nothing can be added after it. */
  digest(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.hash.digest());
  }
}

/** How an answer ended: whole; or after its status line with an error of ours. */
export type ResponseEnding = 'whole' | 'failed';

/** Takes an answer down while it goes out, to the byte. What is too long to keep is no error: the tape forgets it. */
export interface ResponseTape {
  begin(status: number, headers: Record<string, unknown>): void;
  add(bytes: string | Uint8Array): void;
  /** Resolves when the answer is kept, or cannot be; after a second at most. Without it the answer counts as cut off. */
  end(ending: ResponseEnding): Promise<void>;
}

/** Adds the body as it came in to the fingerprint of a request that has one. */
export function noteBody(request: FastifyRequest, ...parts: (string | Uint8Array)[]): void {
  for (const part of parts) request.fingerprint?.add(part);
}
