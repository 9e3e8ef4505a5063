import { type ErrorCode, isErrorCode } from './error-table.js';

/** How an error crosses a process: never a class, always these three. */
export interface WireError {
  code: ErrorCode;
  message: string;
  param?: string | null;
}

/** One finding of a validation: where in the body, and what is wrong there. */
export interface ErrorIssue {
  code: string;
  path: (string | number)[];
  message: string;
}

/** When the same request can succeed: in so many seconds, or never. */
export type RetryAdvice = { afterSeconds: number } | 'never';

/**
 * The one error class of the house. The code decides the HTTP status, what the queue does and what the ledger
 * does (`error-table.ts`). `message` is for callers: no stack, path, host or prompt. `param` names the field.
 */
export class PlatformError extends Error {
  override readonly name = 'PlatformError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly param: string | null = null,
    options: { cause?: unknown; issues?: ErrorIssue[]; retry?: RetryAdvice } = {},
  ) {
    super(message, { cause: options.cause });
    this.issues = options.issues;
    this.retry = options.retry;
  }

  readonly issues: ErrorIssue[] | undefined;
  /** Known here and now; without it the table says when a later try can succeed. */
  readonly retry: RetryAdvice | undefined;

  toWire(): WireError {
    return { code: this.code, message: this.message, param: this.param };
  }

  static fromWire(wire: WireError): PlatformError {
    const code = isErrorCode(wire.code) ? wire.code : 'UNKNOWN_ERROR';
    return new PlatformError(code, wire.message, wire.param ?? null);
  }

  /** Any thrown value as a PlatformError; what is not one becomes `UNKNOWN_ERROR` without its text. */
  static from(error: unknown, fallback: ErrorCode = 'UNKNOWN_ERROR'): PlatformError {
    if (error instanceof PlatformError) return error;
    return new PlatformError(fallback, 'The service failed to answer this request.', null, { cause: error });
  }
}
