import { logLevelOfEnvironment } from '#platform/config';
import { type DestinationStream, type LoggerOptions, pino } from 'pino';
import { serializeError } from './error-serializer.js';
import { stdoutDestination } from './stdout-destination.js';

/** Logger of all components. Never log prompts, outputs, keys or payloads. */
export type Logger = pino.Logger;

/** Injection token of the logger of the process. */
export const Logger = Symbol('Logger');

/** Members that are redacted in case they are logged by mistake. */
const redacted = ['authorization', 'headers.authorization', '*.authorization', '*.password', '*.apiKey', '*.payload'];

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
    serializers: { error: serializeError, err: serializeError },
    redact: { paths: redacted, censor: '[redacted]' },
  };
  return pino(settings, options.stream ?? stdoutDestination());
}
