/** A request that the service refused, or did not answer. */
export class RequestError extends Error {
  override readonly name = 'RequestError';

  constructor(
    /** 0: no response. */
    readonly status: number,
    /** A sentence for the reader of the page. */
    message: string,
    readonly code: string | null = null,
    /** Finds the request in the logs. */
    readonly requestId: string | null = null,
  ) {
    super(message);
  }
}

/** Returns the message and the code of an error body, whichever envelope the route uses. */
export function readErrorBody(body: unknown): { message: string | null; code: string | null } {
  if (!isRecord(body)) return { message: null, code: null };
  const { error, code } = body;
  if (isRecord(error)) return { message: textOf(error['message']), code: textOf(error['code']) };
  return { message: textOf(error) ?? textOf(body['message']), code: textOf(code) };
}

/** Ends a message of the service with a full stop, so that a sentence can follow it. */
export function toSentence(text: string): string {
  const trimmed = text.trim();
  return /[.!?…]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}

/** Returns a sentence for a response without a readable message. */
export function describeStatus(status: number): string {
  if (status === 403) return 'This key may not do that.';
  if (status === 404) return 'The service has no such page or entry.';
  if (status === 429) return 'Too many requests. Wait a moment, then try again.';
  if (status >= 500) return 'The service failed. Try again; if it happens again, look for the request in the logs.';
  return `The service refused the request (status ${status}).`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}
