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

/** A device is never shared by asking for less than is taken: Kubernetes refuses such a pod. */
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

/** Without a device the image only falls back to processors; without the image a device lies idle. */
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
    name: 'bounds what every process may take, and says what it needs',
    offences: unbounded,
    plant: (manifests) => delete firstContainer(manifests, 'worker').resources!.limits!.memory,
  },
  {
    name: 'asks for as many devices as it takes',
    offences: unevenDevices,
    plant: (manifests) => (firstContainer(manifests, 'worker').resources!.limits!['nvidia.com/gpu'] = '2'),
  },
  {
    name: 'gives a device to workers that can use one, and to no others',
    offences: mismatchedDevices,
    plant: (manifests) => {
      const container = firstContainer(manifests, 'api');
      container.resources!.limits!['nvidia.com/gpu'] = '1';
    },
  },
  {
    name: 'lets no temporary folder fill a node',
    offences: (manifests) =>
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
