/*
 * State of a request whose bytes and those of its response a model host signs (docs/guides/tee.md), shared by hooks, body
 * parsers and response writers. Null on other requests.
 */
declare module 'fastify' {
  interface FastifyRequest {
    exchangeSigning: ExchangeSigning | null;
  }
}

/** Sees the bytes of a request and of its response, and has them signed by the host that answered. */
export interface ExchangeSigning {
  /** Takes the body as it was received. */
  takeBody(bytes: Uint8Array): void;
  /** The job of the request began on a worker; the last one to begin answers it. */
  ranOn(run: SignedRun): void;
  /** Takes bytes of the response, as they are sent, before any content coding. */
  add(bytes: string | Uint8Array): void;
  /** Signs what was added and these last bytes. Resolves when that is stored or cannot be, after 2 s at most. Never rejects. */
  complete(last: string | Uint8Array): Promise<void>;
}

/** Where the job of a request runs. */
export interface SignedRun {
  modelId: string;
  /** Pools and process id of the worker; null: it did not say. */
  servedBy: string | null;
  /** The id in the body of the response. */
  responseId: string;
}
