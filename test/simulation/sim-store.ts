import type { JobDefinition, JobEnvelope, JobResult, PendingResults } from '#queue';
import type { SimProcess } from './world.js';

/** How long a process owns job results without renewing, in ms; as in `libs/queue`. */
const resultLockMs = 10_000;

/** Retry delays of a job result, in ms; as in `libs/queue`. */
const firstRetryMs = 500;
const longestRetryMs = 15_000;

export interface QueuedJob {
  envelope: JobEnvelope;
  definition: JobDefinition<object, object>;
  state: 'waiting' | 'active';
  owner: SimProcess | null;
  /** Changes with every delivery; only its owner may finish the job. */
  token: number;
  lockedUntilMs: number;
  stalledBefore: number;
  isGivenUp: boolean;
  failedBefore: number;
}

export interface StoredResult {
  id: number;
  result: JobResult;
  /** The process that works on it, with a lock in case that process dies. */
  owner: SimProcess | null;
  ownedAtMs: number;
  failures: number;
  /** When it may be processed: at once, or after a delay when processing failed. */
  dueAtMs: number;
}

/**
 * Guarantees of the queue, as BullMQ gives them on either store. A job is given to one worker at a time, returns when
 * its lock has expired, and stays until its owner finishes it. Job results are delivered at least once, in any order.
 */
export class SimStore {
  readonly jobs = new Map<string, QueuedJob>();
  readonly results: StoredResult[] = [];
  /** How often all data was lost. */
  flushes = 0;
  private nextToken = 1;
  private nextResult = 1;

  add(definition: JobDefinition<object, object>, envelope: JobEnvelope): void {
    if (this.jobs.has(envelope.requestId)) return;
    this.jobs.set(envelope.requestId, {
      envelope,
      definition,
      state: 'waiting',
      owner: null,
      token: 0,
      lockedUntilMs: 0,
      stalledBefore: 0,
      isGivenUp: false,
      failedBefore: 0,
    });
  }

  remove(requestId: string): boolean {
    const job = this.jobs.get(requestId);
    if (job?.state !== 'waiting') return false;
    return this.jobs.delete(requestId);
  }

  withdraw(requestId: string): void {
    const job = this.jobs.get(requestId);
    if (job) job.envelope = { ...job.envelope, cancelled: true };
  }

  get waiting(): QueuedJob[] {
    return [...this.jobs.values()].filter(({ state }) => state === 'waiting');
  }

  claim(job: QueuedJob, worker: SimProcess, nowMs: number): number {
    job.state = 'active';
    job.owner = worker;
    job.token = this.nextToken++;
    job.lockedUntilMs = nowMs + job.definition.policy.lockMs;
    return job.token;
  }

  owns(requestId: string, token: number): boolean {
    const job = this.jobs.get(requestId);
    return job?.state === 'active' && job.token === token;
  }

  finish(requestId: string, token: number, how: 'done' | 'retry'): void {
    const job = this.jobs.get(requestId);
    if (job === undefined || !this.owns(requestId, token)) return;
    if (how === 'done') return void this.jobs.delete(requestId);
    job.failedBefore += 1;
    job.state = 'waiting';
    job.owner = null;
  }

  /** A worker that stops returns a job: it counts as never taken. */
  handBack(requestId: string, token: number): void {
    const job = this.jobs.get(requestId);
    if (job === undefined || !this.owns(requestId, token)) return;
    job.state = 'waiting';
    job.owner = null;
    job.token = 0;
  }

  /** Live workers renew as time passes. */
  renew(nowMs: number): void {
    for (const job of this.jobs.values()) {
      if (job.state === 'active' && job.owner?.runs) job.lockedUntilMs = nowMs + job.definition.policy.lockMs;
    }
  }

  hasStalled(nowMs: number): boolean {
    return [...this.jobs.values()].some(({ state, lockedUntilMs }) => state === 'active' && lockedUntilMs < nowMs);
  }

  cancelStalled(nowMs: number): void {
    for (const job of this.jobs.values()) {
      if (job.state !== 'active' || job.lockedUntilMs >= nowMs) continue;
      job.stalledBefore += 1;
      job.isGivenUp = job.stalledBefore > job.definition.policy.stalledMax;
      job.state = 'waiting';
      job.owner = null;
      job.token = 0;
    }
  }

  report(result: JobResult, nowMs: number): void {
    const id = this.nextResult++;
    this.results.push({ id, result, owner: null, ownedAtMs: 0, failures: 0, dueAtMs: nowMs });
  }

  postpone(stored: StoredResult, nowMs: number): void {
    stored.owner = null;
    stored.dueAtMs = nowMs + Math.min(firstRetryMs * 2 ** stored.failures, longestRetryMs);
    stored.failures += 1;
  }

  deliverable(nowMs: number): StoredResult[] {
    return this.results.filter(
      ({ owner, ownedAtMs, dueAtMs }) =>
        dueAtMs <= nowMs && (owner === null || (!owner.runs && nowMs - ownedAtMs > resultLockMs)),
    );
  }

  pending(): PendingResults {
    const isPostponed = ({ owner, failures }: StoredResult) => owner === null && failures > 0;
    const names = (stored: StoredResult[]) => stored.map(({ id }) => String(id));
    return {
      postponed: names(this.results.filter(isPostponed)),
      underWay: names(this.results.filter((stored) => !isPostponed(stored))),
    };
  }

  acknowledge(id: number): void {
    const place = this.results.findIndex((stored) => stored.id === id);
    if (place >= 0) this.results.splice(place, 1);
  }

  flush(): void {
    this.flushes += 1;
    this.jobs.clear();
    this.results.length = 0;
  }
}
