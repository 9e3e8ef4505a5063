/** What a host signs about one request. */
export interface SignedExchange {
  /** Id of the model, which holds no colon. */
  readonly model: string;
  /** SHA-256 of the request's body as it was received, as hex. */
  readonly requestHash: string;
  /** SHA-256 of the response's body as it was sent, before any content coding, as hex. */
  readonly responseHash: string;
}

/** `<model>:<hash of the request>:<hash of the response>`. */
export function signedText({ model, requestHash, responseHash }: SignedExchange): string {
  return `${model}:${requestHash}:${responseHash}`;
}

/** Returns null for any other text. */
export function parseSignedText(text: string): SignedExchange | null {
  const match = /^([^:]{1,200}):([0-9a-f]{64}):([0-9a-f]{64})$/.exec(text);
  if (match === null) return null;
  const [, model = '', requestHash = '', responseHash = ''] = match;
  return { model, requestHash, responseHash };
}
