import { type ErrorCode, isErrorCode } from './error-table.js';

/** An error as it crosses processes: never a class. */
export interface WireError {
  code: ErrorCode;
  message: string;
  param?: string | null;
  /** What went wrong inside, for the log of an operator only. Holds nothing of a request. */
  reason?: string;
}

/** One validation issue: where in the body, and what is wrong. */
export interface ErrorIssue {
  code: string;
  path: (string | number)[];
  message: string;
}

/** When the same request can succeed: in so many seconds, or never. */
export type RetryAdvice = { afterSeconds: number } | 'never';

/**
 * The only error class of the project. The code determines the HTTP status and the handling by queue and ledger
 * (`error-table.ts`). `message` is for clients: no stack, path, host or prompt. `param` names the field.
 */
export class PlatformError extends Error {
  override readonly name = 'PlatformError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly param: string | null = null,
    options: { cause?: unknown; issues?: ErrorIssue[]; retry?: RetryAdvice; reason?: string } = {},
  ) {
    super(message, { cause: options.cause });
    this.issues = options.issues;
    this.retry = options.retry;
    this.reason = options.reason;
  }

  readonly issues: ErrorIssue[] | undefined;
  /** Set when known; otherwise the error table says when a retry can succeed. */
  readonly retry: RetryAdvice | undefined;
  /** What went wrong inside, for the log of an operator only. Holds nothing of a request. */
  readonly reason: string | undefined;

  toWire(): WireError {
    const { code, message, param, reason } = this;
    return { code, message, param, ...(reason !== undefined && { reason }) };
  }

  static fromWire(wire: WireError): PlatformError {
    const code = isErrorCode(wire.code) ? wire.code : 'UNKNOWN_ERROR';
    const { message, param = null, reason } = wire;
    return new PlatformError(code, message, param, { ...(reason !== undefined && { reason }) });
  }

  /** Converts any thrown value to a PlatformError. Other errors become `UNKNOWN_ERROR` without their text. */
  static from(error: unknown, fallback: ErrorCode = 'UNKNOWN_ERROR'): PlatformError {
    if (error instanceof PlatformError) return error;
    return new PlatformError(fallback, 'The service failed to answer this request.', null, { cause: error });
  }
}
