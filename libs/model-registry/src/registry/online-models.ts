/** Tracks which models some worker currently serves. */
export abstract class OnlineModels {
  abstract isOnline(modelId: string): boolean;
}

/** The part of a heartbeat with the served models; `Heartbeat` of #queue implements it. */
export interface ServingProcess {
  models: readonly { modelId: string; state: string }[];
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
}

/** For tools without a bus: no model is known to be online. */
export const noOnlineModels: OnlineModels = { isOnline: () => false };
