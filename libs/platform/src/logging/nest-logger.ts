import type { LoggerService } from '@nestjs/common';
import type { Logger } from './logger.js';

/** Routes Nest's log to the project's logger; its start-up messages go to `debug`. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.logger.debug(fields(rest), String(message));
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.logger.error(fields(rest), String(message));
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.logger.warn(fields(rest), String(message));
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.logger.debug(fields(rest), String(message));
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.logger.trace(fields(rest), String(message));
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.logger.fatal(fields(rest), String(message));
  }
}

/** Nest passes an optional stack and an optional context, in this order. */
function fields(rest: unknown[]): Record<string, unknown> {
  const context = rest.at(-1);
  return { context: typeof context === 'string' ? context : undefined, stack: rest.length > 1 ? rest[0] : undefined };
}
