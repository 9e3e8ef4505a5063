import type { HistogramReading } from '#common';

/** Statistics of an engine, for metrics and placement. */
export interface EngineStats {
  /** Requests, or sequences of requests, that run concurrently. */
  slots: number;
  running: number;
  /** Requests waiting for a slot. */
  waiting: number;
  /** Number of model runs. */
  stepsTotal: number;
  /** Time in the session's run calls, in ms. */
  runMsTotal: number;
  /** Durations of the runs in seconds. Optional, because test engines keep none. */
  stepSeconds?: HistogramReading;
}

/** Histogram bounds of `stepSeconds`: from a token of a tiny model to a step of a large image. */
export const stepBounds: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];
