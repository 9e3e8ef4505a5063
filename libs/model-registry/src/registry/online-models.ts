import type { RunMemory } from '#model-memory';

/** Tracks which models some worker currently serves. */
export abstract class OnlineModels {
  abstract isOnline(modelId: string): boolean;
  /** What one run of a model may take on every worker that serves it; null where no size is too large. */
  abstract runMemory(modelId: string): RunMemory | null;
  /** Whether every worker that serves it now has evidence of trusted hardware for the key of its host. */
  abstract isAttested(modelId: string): boolean;
}

/** The part of a heartbeat with the served models; `Heartbeat` of #queue implements it. */
export interface ServingProcess {
  models: readonly { modelId: string; state: string; run?: RunMemory; tee?: { provider: string } }[];
}

/** A model is online if a process with a recent heartbeat reports it as ready. */
export class MembershipOnlineModels implements OnlineModels {
  /** `list` returns the processes with a recent heartbeat: `() => transport.membership.list()`. */
  constructor(private readonly list: () => readonly ServingProcess[]) {}

  isOnline(modelId: string): boolean {
    return this.list().some(({ models }) =>
      models.some((model) => model.modelId === modelId && model.state === 'ready'),
    );
  }

  /** Any worker may take the job, so all must have evidence. Keys of `software` have none. */
  isAttested(modelId: string): boolean {
    const replicas = this.list().flatMap(({ models }) => models.filter((model) => model.modelId === modelId));
    const ready = replicas.filter(({ state }) => state === 'ready');
    return ready.length > 0 && ready.every(({ tee }) => tee !== undefined && tee.provider !== 'software');
  }

  /** Any worker may take the job, so the one with the least memory decides. */
  runMemory(modelId: string): RunMemory | null {
    const replicas = this.list().flatMap(({ models }) => models.filter((model) => model.modelId === modelId));
    const runs = replicas.flatMap(({ state, run }) => (state === 'ready' && run !== undefined ? [run] : []));
    return runs.toSorted((left, right) => left.availableBytes - right.availableBytes)[0] ?? null;
  }
}

/** For tools without a bus: no model is known to be online. */
export const noOnlineModels: OnlineModels = { isOnline: () => false, runMemory: () => null, isAttested: () => false };
