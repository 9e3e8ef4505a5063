import type { ErrorCode } from '#common';
import type { JobState } from '../lifecycle/job-states.js';

/** How the caller gets the result: bytes in the answer, or a link given out when the job was queued. */
export type MediaDelivery = 'inline' | 'link';

/** What an async job needs beside its row; given to the admission. */
export interface NewMediaJob {
  /** A uuid: what the caller knows the job by. */
  queueId: string;
  delivery: MediaDelivery;
  /** Ids of artifacts that are deleted when the job has ended, whichever way. */
  inputArtifacts: readonly string[];
}

/** An async job as its owner may see it. */
export interface MediaJob {
  requestId: string;
  queueId: string;
  state: JobState;
  delivery: MediaDelivery;
  /** Empty until it has succeeded. */
  resultArtifacts: readonly string[];
  /** 0 to 100, as far as a worker has told. */
  progressPercent: number;
  /** Of a job that did not succeed. */
  error: { code: ErrorCode; message: string | null } | null;
  /** Ms since a worker began, or from then to its end; 0 while it waits. */
  runningMs: number;
  /** Ms since it ended; null while it is open. */
  endedForMs: number | null;
  /** Its owner has let the result be deleted. */
  isDeleted: boolean;
}
