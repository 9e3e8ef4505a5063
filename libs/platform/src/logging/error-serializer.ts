/** The parts of an error that are logged. */
export interface LoggedError {
  type: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: LoggedError;
}

const deepestCause = 3;

/**
 * Only these members: errors of database and Redis clients contain the arguments of the failed command, and with them
 * client data.
 */
export function serializeError(error: unknown, { withStack = true, depth = 0 } = {}): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { code } = error as { code?: unknown };
  return {
    type: error.constructor.name,
    message: error.message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(withStack && { stack: error.stack }),
    ...(error.cause !== undefined && depth < deepestCause
      ? { cause: serializeError(error.cause, { withStack, depth: depth + 1 }) }
      : {}),
  };
}
