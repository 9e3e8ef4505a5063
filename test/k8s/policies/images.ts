import { type Manifest, workloadsOf } from '../manifest.js';
import type { Policy } from '../policy.js';
import { firstContainer } from './planting.js';

function imagesOf(manifests: readonly Manifest[]): { place: string; image: string }[] {
  return workloadsOf(manifests).flatMap(({ id, containers }) =>
    containers.map(({ name, image }) => ({ place: `${id}/${name}`, image })),
  );
}

export const imagePolicies: Policy[] = [
  {
    name: 'pins every image',
    violations: (manifests) =>
      imagesOf(manifests)
        .filter(({ image }) => !/(:v?\d[\w.-]*|:RELEASE\.[\w-]+|@sha256:[0-9a-f]{64})$/.test(image))
        .map(({ place, image }) => `${place}: ${image}`),
    plant: (manifests) => (firstContainer(manifests, 'api').image = 'sluice-api:latest'),
  },
  {
    name: 'runs every process in the image of its role',
    violations: (manifests) =>
      workloadsOf(manifests).flatMap(({ id, component, containers }) => {
        const expected = component === undefined ? /./ : imageOfComponent[component];
        return containers.filter(({ image }) => !expected?.test(image)).map(({ image }) => `${id}: ${image}`);
      }),
    plant: (manifests) => (firstContainer(manifests, 'worker').image = 'sluice-api:0.1.0'),
  },
];

const imageOfComponent: Record<string, RegExp> = {
  api: /(^sluice-|\/)api:/,
  ops: /(^sluice-|\/)api:/,
  migrate: /(^sluice-|\/)api:/,
  models: /(^sluice-|\/)worker:/,
  worker: /(^sluice-|\/)worker(-cuda)?:/,
};
