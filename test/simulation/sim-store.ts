import type { JobDefinition, JobEnvelope, JobResult, PendingResults } from '#queue';
import type { SimProcess } from './world.js';

/** How long a process owns outcomes without renewing, in ms; as in `libs/queue`. */
const resultLockMs = 10_000;

/** Pauses before an outcome is tried again, in ms; as in `libs/queue`. */
const firstRetryMs = 500;
const longestRetryMs = 15_000;

export interface QueuedJob {
  envelope: JobEnvelope;
  definition: JobDefinition<object, object>;
  state: 'waiting' | 'active';
  replica: SimProcess | null;
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
  /** Who works on it; with a lock, since that process may die. */
  replica: SimProcess | null;
  heldAtMs: number;
  failures: number;
  /** When it may be worked on: at once, or after a pause when that failed. */
  dueAtMs: number;
}

/**
 * What the queue promises, as BullMQ keeps it on either store: a job is given to one worker at a time, comes back when
 * its lock has run out, and stays until it was finished by whoever holds it; outcomes come at least once, in any order.
 */
export class SimStore {
  readonly jobs = new Map<string, QueuedJob>();
  readonly results: StoredResult[] = [];
  /** How often everything was forgotten. */
  flushes = 0;
  private nextToken = 1;
  private nextResult = 1;

  add(definition: JobDefinition<object, object>, envelope: JobEnvelope): void {
    if (this.jobs.has(envelope.requestId)) return;
    this.jobs.set(envelope.requestId, {
      envelope,
      definition,
      state: 'waiting',
      replica: null,
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
    job.replica = worker;
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
    job.replica = null;
  }

  /** Live workers renew as time passes. */
  renew(nowMs: number): void {
    for (const job of this.jobs.values()) {
      if (job.state === 'active' && job.replica?.runs) job.lockedUntilMs = nowMs + job.definition.policy.lockMs;
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
      job.replica = null;
      job.token = 0;
    }
  }

  report(result: JobResult, nowMs: number): void {
    const id = this.nextResult++;
    this.results.push({ id, result, replica: null, heldAtMs: 0, failures: 0, dueAtMs: nowMs });
  }

  postpone(stored: StoredResult, nowMs: number): void {
    stored.replica = null;
    stored.dueAtMs = nowMs + Math.min(firstRetryMs * 2 ** stored.failures, longestRetryMs);
    stored.failures += 1;
  }

  deliverable(nowMs: number): StoredResult[] {
    return this.results.filter(
      ({ replica, heldAtMs, dueAtMs }) =>
        dueAtMs <= nowMs && (replica === null || (!replica.runs && nowMs - heldAtMs > resultLockMs)),
    );
  }

  pending(): PendingResults {
    const isPostponed = ({ replica, failures }: StoredResult) => replica === null && failures > 0;
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
