import { failureText } from './failure-text.js';

/** Pause between two looks at a store that is away, in ms. */
const lookEveryMs = 1_000;

export interface OutageLogOptions {
  /** As a sentence begins: `Redis`. */
  store: string;
  /** Writes one warning. */
  warn: (message: string) => void;
  /** Resolves when the store responds. Null: it is not known yet how to ask; the next error then counts as an outage. */
  probe: () => Promise<void>;
  lookEveryMs?: number;
}

/**
 * Turns the errors of all objects that use one store into one warning when an outage begins and one when it ends. Every
 * queue, worker and connection reports the same outage, at every attempt.
 */
export class OutageLog {
  private sinceMs: number | null = null;
  private errors = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: OutageLogOptions) {}

  /** Notes an error. Returns false for one that says nothing about the connection: its reporter logs it. */
  note(error: unknown): boolean {
    if (!isConnectionFailure(error)) return false;
    this.errors += 1;
    if (this.sinceMs !== null) return true;
    this.sinceMs = performance.now();
    this.options.warn(`${this.options.store} is not available: ${failureText(error)}`);
    this.lookLater();
    return true;
  }

  close(): void {
    clearTimeout(this.timer);
  }

  private lookLater(): void {
    this.timer = setTimeout(() => void this.look(), this.options.lookEveryMs ?? lookEveryMs);
    this.timer.unref();
  }

  private async look(): Promise<void> {
    const { store, probe, warn } = this.options;
    const errorsBefore = this.errors;
    const isBack = await probe().then(
      () => true,
      () => false,
    );
    if (this.sinceMs === null) return;
    // An object whose connection is still down reports it meanwhile.
    if (!isBack || this.errors > errorsBefore) return this.lookLater();
    const seconds = ((performance.now() - this.sinceMs) / 1_000).toFixed(1);
    warn(`${store} is available again after ${seconds} s; ${this.errors} errors in between.`);
    this.sinceMs = null;
    this.errors = 0;
  }
}

const codes = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['SERVICE_UNAVAILABLE', 'CONNECTION_CLOSED'],
]);

/** What drivers say of a connection that is lost, refused, or of a server that starts or stops. */
const messages =
  /connection (is |was )?(closed|lost|ended|terminated)|terminat|stream isn.t writeable|timed out|timeout|socket closed|max retries|^LOADING |^MASTERDOWN |not queryable/i;

/** Classes 08 (connection) and 57P (shutdown) of SQLSTATE, codes of sockets, and messages. */
function isConnectionFailure(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 4; cause = cause.cause, depth += 1) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    if (codes.has(code) || /^(08|57P)/.test(code) || messages.test(cause.message)) return true;
    if (cause instanceof AggregateError && cause.errors.some(isConnectionFailure)) return true;
  }
  return false;
}
