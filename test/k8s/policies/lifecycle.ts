import { type Manifest, type Workload, workloadsOf } from '../manifest.js';
import type { Policy } from '../policy.js';
import { environmentOf } from './environment.js';
import { firstContainer, firstWorkload } from './planting.js';

/**
 * Time that a process needs after its drain to send final replies, release what it holds and close its stores, in s.
 */
const closingSeconds = 10;

/** Variable that limits the drain, in ms. */
const drainOf: Record<string, string> = { api: 'SLUICE_SHUTDOWN_GRACE_MS', worker: 'SLUICE_DRAIN_MS' };

function killedEarly(manifests: readonly Manifest[]): string[] {
  return workloadsOf(manifests).flatMap(({ id, component = '', pod }) => {
    const variable = drainOf[component];
    if (variable === undefined) return [];
    return pod.containers.flatMap((container) => {
      const drainMs = Number(environmentOf(container, manifests)[variable]);
      const sleep = container.lifecycle?.preStop?.exec?.command.at(-1) ?? '0';
      const needed = Number(sleep) + drainMs / 1_000 + closingSeconds;
      const given = pod.terminationGracePeriodSeconds ?? 30;
      // Comparing NaN is always false, so an unset variable must not pass.
      return given >= needed ? [] : [`${id}: ${given} s, needs ${needed} s`];
    });
  });
}

const hasProbes = ({ component }: Workload) => ['api', 'ops', 'worker'].includes(component ?? '');

function wrongProbes(manifests: readonly Manifest[]): string[] {
  return workloadsOf(manifests)
    .filter(hasProbes)
    .flatMap(({ id, pod }) =>
      pod.containers.flatMap(({ livenessProbe, readinessProbe, startupProbe, ports = [] }) => {
        const expected = [
          [livenessProbe, '/health/live'],
          [readinessProbe, '/health/ready'],
          [startupProbe, '/health/live'],
        ] as const;
        return expected
          .filter(([probe, path]) => {
            const known = ports.some(({ name }) => name === probe?.httpGet?.port);
            return probe?.httpGet?.path !== path || !known;
          })
          .map(([, path]) => `${id}: ${path}`);
      }),
    );
}

export const lifecyclePolicies: Policy[] = [
  {
    name: 'kills no process before its drain can be over',
    violations: killedEarly,
    plant: (manifests) => (firstWorkload(manifests, 'worker').pod.terminationGracePeriodSeconds = 30),
  },
  {
    name: 'sends no request to a stopped API: it waits for the proxies first',
    violations: (manifests) =>
      workloadsOf(manifests)
        .filter(({ component, pod }) => {
          const sleeps = pod.containers.every(({ lifecycle }) => lifecycle?.preStop?.exec?.command[0] === 'sleep');
          return component === 'api' && !sleeps;
        })
        .map(({ id }) => id),
    plant: (manifests) => delete firstContainer(manifests, 'api').lifecycle,
  },
  {
    name: 'checks liveness without the stores and readiness with them',
    violations: wrongProbes,
    plant: (manifests) => (firstContainer(manifests, 'worker').livenessProbe!.httpGet!.path = '/health/ready'),
  },
];
