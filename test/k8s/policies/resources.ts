import { type Manifest, workloadsOf } from '../manifest.js';
import type { Policy } from '../policy.js';
import { firstContainer } from './planting.js';

const needed = ['cpu', 'memory'] as const;

function unbounded(manifests: readonly Manifest[]): string[] {
  return workloadsOf(manifests).flatMap(({ id, containers }) =>
    containers.flatMap(({ name, resources }) =>
      needed.flatMap((resource) =>
        (['requests', 'limits'] as const)
          .filter((side) => resources?.[side]?.[resource] === undefined)
          .map((side) => `${id}/${name}: no ${side} of ${resource}`),
      ),
    ),
  );
}

/** Kubernetes rejects a pod whose device request differs from its limit. */
function unevenDevices(manifests: readonly Manifest[]): string[] {
  return workloadsOf(manifests).flatMap(({ id, containers }) =>
    containers.flatMap(({ resources }) => {
      const devices = [...Object.keys(resources?.limits ?? {}), ...Object.keys(resources?.requests ?? {})];
      return devices
        .filter((name) => name.includes('/'))
        .filter((name) => resources?.limits?.[name] !== resources?.requests?.[name])
        .map((name) => `${id}: ${name}`);
    }),
  );
}

/** Without a device the CUDAn image falls back to the CPU; without the image a device is unused. */
function mismatchedDevices(manifests: readonly Manifest[]): string[] {
  return workloadsOf(manifests).flatMap(({ id, containers }) =>
    containers
      .filter(({ image, resources }) => {
        const hasDevice = Object.keys(resources?.limits ?? {}).some((name) => name.startsWith('nvidia.com/'));
        return hasDevice !== /worker-cuda:/.test(image);
      })
      .map(() => id),
  );
}

export const resourcePolicies: Policy[] = [
  {
    name: 'sets resource requests and limits for every process',
    violations: unbounded,
    plant: (manifests) => delete firstContainer(manifests, 'worker').resources!.limits!.memory,
  },
  {
    name: 'requests as many devices as its limit',
    violations: unevenDevices,
    plant: (manifests) => (firstContainer(manifests, 'worker').resources!.limits!['nvidia.com/gpu'] = '2'),
  },
  {
    name: 'assigns devices to GPU workers and to no others',
    violations: mismatchedDevices,
    plant: (manifests) => {
      const container = firstContainer(manifests, 'api');
      container.resources!.limits!['nvidia.com/gpu'] = '1';
    },
  },
  {
    name: 'limits the size of every temporary folder',
    violations: (manifests) =>
      workloadsOf(manifests).flatMap(({ id, pod }) =>
        (pod.volumes ?? [])
          .filter(({ emptyDir }) => emptyDir && emptyDir.sizeLimit === undefined)
          .map(({ name }) => `${id}: ${name}`),
      ),
    plant: (manifests) =>
      workloadsOf(manifests)
        .flatMap(({ pod }) => pod.volumes ?? [])
        .filter(({ emptyDir }) => emptyDir)
        .forEach((volume) => (volume.emptyDir = {})),
  },
];
