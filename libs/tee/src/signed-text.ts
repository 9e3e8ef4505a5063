/** What a host signs about one request. Which model answered is in the receipt. */
export interface SignedExchange {
  /** SHA-256 of the request's body as it was received, as hex. */
  readonly requestHash: string;
  /** SHA-256 of the response's body as it was sent, before any content coding, as hex. */
  readonly responseHash: string;
}

/** `<hash of the request>:<hash of the response>`. */
export function signedText({ requestHash, responseHash }: SignedExchange): string {
  return `${requestHash}:${responseHash}`;
}

/** Returns null for any other text. */
export function parseSignedText(text: string): SignedExchange | null {
  const match = /^([0-9a-f]{64}):([0-9a-f]{64})$/.exec(text);
  if (match === null) return null;
  const [, requestHash = '', responseHash = ''] = match;
  return { requestHash, responseHash };
}
