export type TraceAttributes = Record<string, string | number | boolean>;

export interface SpanStart {
  name: string;
  /** `server` responds to a client, `consumer` processes a job, `internal` is neither. */
  kind: 'server' | 'consumer' | 'internal';
  /** W3C `traceparent` of the parent; an invalid one counts as absent. */
  parent?: string;
  attributes?: TraceAttributes;
}

export interface SpanEnd {
  name?: string;
  attributes?: TraceAttributes;
  /** Error code of a failure; never client text. */
  error?: string;
}

/**
 * Open spans of a process, by request id. The job and its runs have the same id, so that no span must be passed along.
 * Attributes never contain prompts, outputs or keys.
 */
export abstract class Tracing {
  abstract readonly enabled: boolean;
  abstract begin(id: string, start: SpanStart): void;
  /**
   * Returns the `traceparent` of the open span of an id, for the next component; undefined without one. A run's id may
   * be that of its request plus a suffix after `.`, `-` or `#`.
   */
  abstract parentFor(id: string): string | undefined;
  /** Adds a timed event to the open span of exactly this id; no effect without one. */
  abstract addEvent(id: string, name: string): void;
  /** No effect for an id without an open span. */
  abstract end(id: string, end?: SpanEnd): void;
  /** Flushes pending spans, within 2 s. */
  abstract close(): Promise<void>;
}

/** Costs only an empty call. */
export const noTracing: Tracing = {
  enabled: false,
  begin: () => undefined,
  parentFor: () => undefined,
  addEvent: () => undefined,
  end: () => undefined,
  close: () => Promise.resolve(),
};
