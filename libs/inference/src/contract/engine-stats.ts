import type { HistogramReading } from '#common';

/** What every engine tells about itself, for metrics and placement. */
export interface EngineStats {
  /** Requests, or sequences of them, that run at once. */
  slots: number;
  running: number;
  /** Waiting for a slot. */
  waiting: number;
  /** Runs of the model. */
  stepsTotal: number;
  /** Ms spent inside the session's run calls. */
  runMsTotal: number;
  /** How long the runs took, in seconds. Optional, as engines of tests keep none. */
  stepSeconds?: HistogramReading;
}

/** Bounds of `stepSeconds`: from a token of a tiny model to a step of a large picture. */
export const stepBounds: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30,
];
