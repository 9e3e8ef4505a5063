import type { RunMemory } from '#platform/memory';

/** Tracks which models some worker currently serves. */
export abstract class OnlineModels {
  abstract isOnline(modelId: string): boolean;
  /** What one run of a model may take on every worker that serves it; null where no size is too large. */
  abstract runMemory(modelId: string): RunMemory | null;
}

/** The part of a heartbeat with the served models; `Heartbeat` of #queue implements it. */
export interface ServingProcess {
  models: readonly { modelId: string; state: string; run?: RunMemory }[];
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

  /** Any worker may take the job, so the one with the least memory decides. */
  runMemory(modelId: string): RunMemory | null {
    const replicas = this.list().flatMap(({ models }) => models.filter((model) => model.modelId === modelId));
    const runs = replicas.flatMap(({ state, run }) => (state === 'ready' && run !== undefined ? [run] : []));
    return runs.toSorted((left, right) => left.availableBytes - right.availableBytes)[0] ?? null;
  }
}

/** For tools without a bus: no model is known to be online. */
export const noOnlineModels: OnlineModels = { isOnline: () => false, runMemory: () => null };
