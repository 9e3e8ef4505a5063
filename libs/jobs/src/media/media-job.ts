import type { ErrorCode } from '#common';
import type { JobState } from '../lifecycle/job-states.js';

/** How the caller gets the result: bytes in the response, or a link returned when the job was queued. */
export type MediaDelivery = 'inline' | 'link';

/** Media data of an async job, passed to admission. */
export interface NewMediaJob {
  /** A uuid: the id by which the caller knows the job. */
  queueId: string;
  delivery: MediaDelivery;
  /** Artifacts that are deleted when the job has ended, in any way. */
  inputArtifacts: readonly string[];
}

/** An async job as its owner sees it. */
export interface MediaJob {
  requestId: string;
  queueId: string;
  state: JobState;
  delivery: MediaDelivery;
  /** The artifacts of the result; empty until the job has succeeded. */
  resultArtifacts: readonly string[];
  /** 0 to 100, as last reported by a worker. */
  progressPercent: number;
  /** The error of a job that did not succeed. */
  error: { code: ErrorCode; message: string | null } | null;
  /** Run time in ms, up to now or to its end; 0 while it waits. */
  runningMs: number;
  /** Ms since it ended; null while it is open. */
  endedForMs: number | null;
  /** True when its owner has deleted the result. */
  isDeleted: boolean;
}
