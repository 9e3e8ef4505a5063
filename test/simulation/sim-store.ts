import type { JobDefinition, JobEnvelope, Outcome, PendingOutcomes } from '#queue';
import type { SimProcess } from './world.js';

/** How long a process owns outcomes without renewing, in ms; as in `libs/queue`. */
const outcomeLockMs = 10_000;

/** Pauses before an outcome is tried again, in ms; as in `libs/queue`. */
const firstRetryMs = 500;
const longestRetryMs = 15_000;

export interface QueuedJob {
  envelope: JobEnvelope;
  definition: JobDefinition<object, object>;
  state: 'waiting' | 'active';
  holder: SimProcess | null;
  /** Changes with every delivery; only its owner may finish the job. */
  token: number;
  lockedUntilMs: number;
  stalledBefore: number;
  isGivenUp: boolean;
  failedBefore: number;
}

export interface StoredOutcome {
  id: number;
  outcome: Outcome;
  /** Who works on it; with a lock, since that process may die. */
  holder: SimProcess | null;
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
  readonly outcomes: StoredOutcome[] = [];
  /** How often everything was forgotten. */
  flushes = 0;
  private nextToken = 1;
  private nextOutcome = 1;

  add(definition: JobDefinition<object, object>, envelope: JobEnvelope): void {
    if (this.jobs.has(envelope.requestId)) return;
    this.jobs.set(envelope.requestId, {
      envelope,
      definition,
      state: 'waiting',
      holder: null,
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
    job.holder = worker;
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
    job.holder = null;
  }

  /** Live workers renew as time passes. */
  renew(nowMs: number): void {
    for (const job of this.jobs.values()) {
      if (job.state === 'active' && job.holder?.runs) job.lockedUntilMs = nowMs + job.definition.policy.lockMs;
    }
  }

  hasStalled(nowMs: number): boolean {
    return [...this.jobs.values()].some(({ state, lockedUntilMs }) => state === 'active' && lockedUntilMs < nowMs);
  }

  takeBackStalled(nowMs: number): void {
    for (const job of this.jobs.values()) {
      if (job.state !== 'active' || job.lockedUntilMs >= nowMs) continue;
      job.stalledBefore += 1;
      job.isGivenUp = job.stalledBefore > job.definition.policy.stalledMax;
      job.state = 'waiting';
      job.holder = null;
      job.token = 0;
    }
  }

  report(outcome: Outcome, nowMs: number): void {
    const id = this.nextOutcome++;
    this.outcomes.push({ id, outcome, holder: null, heldAtMs: 0, failures: 0, dueAtMs: nowMs });
  }

  postpone(stored: StoredOutcome, nowMs: number): void {
    stored.holder = null;
    stored.dueAtMs = nowMs + Math.min(firstRetryMs * 2 ** stored.failures, longestRetryMs);
    stored.failures += 1;
  }

  deliverable(nowMs: number): StoredOutcome[] {
    return this.outcomes.filter(
      ({ holder, heldAtMs, dueAtMs }) =>
        dueAtMs <= nowMs && (holder === null || (!holder.runs && nowMs - heldAtMs > outcomeLockMs)),
    );
  }

  pending(): PendingOutcomes {
    const isPostponed = ({ holder, failures }: StoredOutcome) => holder === null && failures > 0;
    const names = (stored: StoredOutcome[]) => stored.map(({ id }) => String(id));
    return {
      postponed: names(this.outcomes.filter(isPostponed)),
      underWay: names(this.outcomes.filter((stored) => !isPostponed(stored))),
    };
  }

  acknowledge(id: number): void {
    const place = this.outcomes.findIndex((stored) => stored.id === id);
    if (place >= 0) this.outcomes.splice(place, 1);
  }

  flush(): void {
    this.flushes += 1;
    this.jobs.clear();
    this.outcomes.length = 0;
  }
}
