import type { HostSupervisor } from '#inference/host';

/** The host of a helper, also while it loads or is restarted: a task waits for it as a job does. Null once it leaves. */
export function hostThatHelps<Host extends Pick<HostSupervisor, 'state'>>(host: Host | undefined): Host | null {
  return host === undefined || host.state === 'draining' || host.state === 'gone' ? null : host;
}
