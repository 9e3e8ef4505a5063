import type { HostSupervisor } from '#inference/host';

/** A model whose host assists other models. */
export interface HelperModel<Host extends Pick<HostSupervisor, 'state'>> {
  readonly host: Host;
  /** True when the host is down for longer than a request waits, or cannot be started. */
  readonly isDown: boolean;
}

/**
 * Returns the host of a helper model, also while it loads or restarts: tasks wait for it as jobs do. Returns null once
 * it is draining, gone or down too long.
 */
export function availableHelperHost<Host extends Pick<HostSupervisor, 'state'>>(
  model: HelperModel<Host> | undefined,
): Host | null {
  if (model === undefined || model.isDown) return null;
  const { host } = model;
  return host.state === 'draining' || host.state === 'gone' ? null : host;
}
