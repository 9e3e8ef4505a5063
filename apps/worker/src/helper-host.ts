import type { HostSupervisor } from '#inference/host';

/** A model whose host helps. */
export interface HelpingModel<Host extends Pick<HostSupervisor, 'state'>> {
  readonly host: Host;
  /** Away for longer than a request waits, or it cannot be brought up. */
  readonly isAway: boolean;
}

/**
 * The host of a helper, also while it loads or is restarted: a task waits for it as a job does. Null once it leaves, and while
 * it is away.
 */
export function hostThatHelps<Host extends Pick<HostSupervisor, 'state'>>(
  model: HelpingModel<Host> | undefined,
): Host | null {
  if (model === undefined || model.isAway) return null;
  const { host } = model;
  return host.state === 'draining' || host.state === 'gone' ? null : host;
}
