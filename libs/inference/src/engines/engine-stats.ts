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
}
