import { logLevelOfEnvironment } from '#platform/config';
import { type DestinationStream, type LoggerOptions, pino } from 'pino';
import { stdoutDestination } from './stdout-destination.js';

/** The parts of an error that are logged. */
interface LoggedError {
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

/**
 * Logger of all components: the interface of pino, merged with a class that is its injection token. Never log prompts,
 * outputs, keys or payloads.
 */
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging -- pino makes every logger; the class is only the token.
export interface Logger extends pino.Logger {}
export abstract class Logger {}

/** Of pino. */
const warnLevel = 40;

/** Members that are redacted in case they are logged by mistake. */
const redacted = [
  ...['authorization', 'headers.authorization', '*.authorization', '["x-api-key"]', '*["x-api-key"]'],
  ...['*.password', '*.apiKey', '*.payload'],
];

/**
 * Creates a logger of one JSON object per line on stdout: `level` (a word), `time` (ISO), `name`, `msg`. Add
 * `requestId` with `logger.child({ requestId })`. `npm start` formats the lines of its children for people.
 */
export function createLogger(name: string, options: { level?: string; stream?: DestinationStream } = {}): Logger {
  const settings: LoggerOptions = {
    name,
    level: options.level ?? logLevelOfEnvironment(),
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { error: serialize, err: serialize },
    hooks: { logMethod: withoutStacks },
    redact: { paths: redacted, censor: '[redacted]' },
  };
  return pino(settings, options.stream ?? stdoutDestination());
}

/** An error of a warning. */
class Expected {
  constructor(readonly error: Error) {}
}

/** Of an expected failure, such as a store that is away, the messages are enough; unexpected ones are logged as errors. */
function withoutStacks(this: Logger, parameters: Parameters<pino.LogFn>, method: pino.LogFn, level: number): void {
  const [fields, ...others] = parameters as unknown as [{ error?: unknown } | string, ...unknown[]];
  const hasError = level === warnLevel && typeof fields === 'object' && fields.error instanceof Error;
  const logged = hasError ? [{ ...fields, error: new Expected(fields.error as Error) }, ...others] : parameters;
  Reflect.apply(method, this, logged);
}

function serialize(error: unknown): LoggedError {
  return error instanceof Expected ? serializeError(error.error, { withStack: false }) : serializeError(error);
}
