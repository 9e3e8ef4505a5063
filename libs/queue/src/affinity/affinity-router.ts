import { type JobEnvelope, queueName } from '../contract/job-definition.js';
import type { Heartbeat } from '../contract/heartbeat.js';
import { type Candidate, type Choice, chooseSpareSlot, chooseWorker } from './worker-choice.js';

/** The most requests whose worker is remembered. No process has more open requests. */
const maxOpen = 50_000;

/**
 * Chooses the worker for a job from heartbeats and from what this process itself has in progress, so that replicas need
 * not talk to each other. Heartbeats are up to one beat old. They show which worker has room; a worker that has none
 * after all releases the job.
 */
export class AffinityRouter {
  private readonly open = new Map<string, string>();
  private readonly loads = new Map<string, number>();
  /** How much of a heartbeat's `running` came from this process when the heartbeat arrived, by worker and queue. */
  private readonly ownLoadThen = new WeakMap<Heartbeat, ReadonlyMap<string, number>>();

  /** `workers` lists the processes whose heartbeat is recent enough to prefer them. */
  constructor(private readonly workers: () => readonly Heartbeat[]) {}

  /** `routeKey` is called only when there is a choice. */
  choose(envelope: JobEnvelope, routeKey: () => string): Choice {
    const candidates = this.candidates(envelope);
    if (candidates.length < 2) return { refusal: 'alone' };
    return chooseWorker(routeKey(), candidates);
  }

  /** Returns true when several workers serve the queue of a job. */
  hasChoice(envelope: JobEnvelope): boolean {
    return this.candidates(envelope).length > 1;
  }

  /**
   * Works like `choose` for a job that may use a spare slot of a worker without room. Returns null when no worker has
   * one.
   */
  chooseSpare(envelope: JobEnvelope, routeKey: () => string): string | null {
    const candidates = this.candidates(envelope).filter(({ spareSlots }) => spareSlots > 0);
    return candidates.length === 0 ? null : chooseSpareSlot(routeKey(), candidates);
  }

  /**
   * Records this process's share of the load in a heartbeat, which must not be counted twice, nor after it has ended.
   */
  note(heartbeat: Heartbeat): void {
    if (heartbeat.models.length > 0) this.ownLoadThen.set(heartbeat, new Map(this.loads));
  }

  /** Counts a request as the load of a worker until `ended`. */
  began(envelope: JobEnvelope, workerId: string): void {
    const loadKey = loadKeyOf(envelope, workerId);
    this.ended(envelope.requestId);
    if (this.open.size >= maxOpen) return;
    this.open.set(envelope.requestId, loadKey);
    this.loads.set(loadKey, (this.loads.get(loadKey) ?? 0) + 1);
  }

  /** Does nothing for requests without a preferred worker. */
  ended(requestId: string): void {
    const loadKey = this.open.get(requestId);
    if (loadKey === undefined) return;
    this.open.delete(requestId);
    const load = (this.loads.get(loadKey) ?? 1) - 1;
    if (load > 0) this.loads.set(loadKey, load);
    else this.loads.delete(loadKey);
  }

  private candidates(envelope: JobEnvelope): Candidate[] {
    const queue = queueName(envelope.modality, envelope.modelId);
    const found: Candidate[] = [];
    for (const heartbeat of this.workers()) {
      const { processId, models, claims } = heartbeat;
      if (claims?.includes(queue) !== true) continue;
      const served = models.find(({ modelId, state }) => modelId === envelope.modelId && state === 'ready');
      if (served === undefined) continue;
      const loadKey = loadKeyOf(envelope, processId);
      const load = this.loads.get(loadKey) ?? 0;
      const foreign = Math.max(0, served.running - (this.ownLoadThen.get(heartbeat)?.get(loadKey) ?? 0));
      found.push({
        workerId: processId,
        room: served.slots - foreign - load,
        load,
        spareSlots: served.spareSlots ?? 0,
      });
    }
    return found;
  }
}

function loadKeyOf({ modality, modelId }: JobEnvelope, workerId: string): string {
  return `${workerId} ${queueName(modality, modelId)}`;
}
