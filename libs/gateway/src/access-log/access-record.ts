import type { ErrorCode, NanoUsd, JobUsage } from '#common';
import type { Pricing } from '#model-registry/manifest';

/** The job of a request that ended well, as a meter reads it. */
export interface FinishedJob {
  modality: string;
  modelId: string;
  usage: JobUsage;
  /** The price at admission, or null when the job is free. */
  pricing: Pricing | null;
}

/** Fields of the access log about a request, in addition to its response. The stages of the pipeline fill it in. */
export class AccessRecord {
  /** Id in the registry, never the name that the caller wrote. */
  modelId: string | null = null;
  /** The last characters of a valid key. */
  keySuffix: string | null = null;
  errorCode: ErrorCode | null = null;
  /** Pools and id of the worker that runs the job. */
  worker: string | null = null;
  /** The most that the request can be charged, or null when it reserves nothing. */
  reservedNano: NanoUsd | null = null;
  /** Null until the job has ended well. */
  finishedJob: FinishedJob | null = null;
  firstTokenMs: number | null = null;

  constructor(
    private readonly elapsedMs: () => number,
    private readonly onFirstToken: (record: AccessRecord, ms: number) => void = () => undefined,
  ) {}

  /** Call it after each write of generated content to a client that streams; only the first call counts. */
  noteContent(): void {
    if (this.firstTokenMs !== null) return;
    this.firstTokenMs = this.elapsedMs();
    this.onFirstToken(this, this.firstTokenMs);
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Absent for a request that no hook saw. */
    accessRecord?: AccessRecord | null;
  }
}
