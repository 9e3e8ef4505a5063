import { idOf, type Manifest, ofKind, type Workload, workloadsOf } from '../manifest.js';
import type { Policy } from '../policy.js';
import { environmentOf } from './environment.js';
import { firstContainer, firstWorkload, named } from './planting.js';

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

/** Time that a worker may take to load its models, in s. */
const loadSeconds = 1_800;

/** Budgets of workers that let the only worker of a pool be evicted. */
function evictsTheOnly(manifests: readonly Manifest[]): string[] {
  return ofKind(manifests, 'PodDisruptionBudget')
    .filter(({ spec }) => spec?.selector?.matchLabels?.['app.kubernetes.io/component'] === 'worker')
    .filter(({ spec }) => {
      const { minAvailable = 0 } = spec ?? {};
      // Shares are rounded up.
      const kept = typeof minAvailable === 'number' ? minAvailable : Math.ceil(parseFloat(minAvailable) / 100);
      return !(kept >= 1);
    })
    .map(idOf);
}

/** A worker on CPUs is replaced only by one that is ready; GPUs are rarely free for a second worker. */
function stopsFirst(manifests: readonly Manifest[]): string[] {
  return workloadsOf(manifests)
    .filter(({ component }) => component === 'worker')
    .filter(({ pod }) => !pod.containers.some(({ resources }) => hasGraphics(resources?.limits)))
    .filter(({ manifest }) => {
      const { maxSurge = 0, maxUnavailable = 1 } = manifest.spec?.strategy?.rollingUpdate ?? {};
      return maxSurge < 1 || maxUnavailable > 0;
    })
    .map(({ id }) => id);
}

const hasGraphics = (limits: Record<string, string> = {}) =>
  Object.keys(limits).some((name) => name.startsWith('nvidia.com/'));

export const lifecyclePolicies: Policy[] = [
  {
    name: 'evicts no worker that is the only one of its pool',
    violations: evictsTheOnly,
    plant: (manifests) => (named(manifests, 'PodDisruptionBudget', /text/).spec!.minAvailable = '0%'),
  },
  {
    name: 'replaces a worker without a GPU only by one that is ready',
    violations: stopsFirst,
    plant: (manifests) => {
      const { manifest } = workloadsOf(manifests).find(({ id }) => id.endsWith('sluice-worker-audio'))!;
      manifest.spec!.strategy!.rollingUpdate!.maxSurge = 0;
    },
  },
  {
    name: 'gives the workers of a rollout the time to load their models',
    violations: (manifests) =>
      workloadsOf(manifests)
        .filter(({ component }) => component === 'worker')
        .filter(({ manifest }) => (manifest.spec?.progressDeadlineSeconds ?? 600) < loadSeconds)
        .map(({ id }) => id),
    plant: (manifests) => delete firstWorkload(manifests, 'worker').manifest.spec!.progressDeadlineSeconds,
  },
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
