/** Which models some worker holds ready at this moment. */
export abstract class OnlineModels {
  abstract isOnline(modelId: string): boolean;
}

/** The part of a heartbeat that says what a process holds; `Heartbeat` of #queue is one. */
export interface ModelReplica {
  models: readonly { modelId: string; state: string }[];
}

/** Online means that a process that was heard of lately says it holds the model ready. */
export class MembershipOnlineModels implements OnlineModels {
  /** `list` answers the processes heard of lately: `() => transport.presence.list()`. */
  constructor(private readonly list: () => readonly ModelReplica[]) {}

  isOnline(modelId: string): boolean {
    return this.list().some(({ models }) => models.some((held) => held.modelId === modelId && held.state === 'ready'));
  }
}

/** For tools that see no bus: nothing is known to be online. */
export const noOnlineModels: OnlineModels = { isOnline: () => false };
