export type TraceAttributes = Record<string, string | number | boolean>;

export interface SpanStart {
  name: string;
  /** `server` answers a caller, `consumer` takes a job, `internal` is neither. */
  kind: 'server' | 'consumer' | 'internal';
  /** W3C `traceparent` of what caused it; what is none counts as absent. */
  parent?: string;
  attributes?: TraceAttributes;
}

export interface SpanEnd {
  name?: string;
  attributes?: TraceAttributes;
  /** Why it failed, a code; never text of callers. */
  error?: string;
}

/**
 * The open spans of a process, by the ids of what they stand for: the id of a request is that of its job and of its
 * runs, so nothing has to carry a span along. Attributes never hold prompts, outputs or keys.
 */
export abstract class Tracing {
  abstract readonly enabled: boolean;
  abstract begin(id: string, start: SpanStart): void;
  /**
   * `traceparent` of the open span of an id, for whoever works on it next; undefined without. A run's id may be that of
   * its request with something behind a `.`, `-` or `#`.
   */
  abstract parentFor(id: string): string | undefined;
  /** Of no effect for an id without an open span. */
  abstract end(id: string, end?: SpanEnd): void;
  /** Sends what is left, within 2 s. */
  abstract close(): Promise<void>;
}

/** Costs a call that does nothing. */
export const noTracing: Tracing = {
  enabled: false,
  begin: () => undefined,
  parentFor: () => undefined,
  end: () => undefined,
  close: () => Promise.resolve(),
};
