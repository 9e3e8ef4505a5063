import { type Container, type Manifest, type Workload, workloadsOf } from '../manifest.js';

/** The first workload of a component; a planted violation without one is a broken test. */
export function firstWorkload(manifests: readonly Manifest[], component: string): Workload {
  const found = workloadsOf(manifests).find((workload) => workload.component === component);
  if (!found) throw new Error(`no workload is a ${component}`);
  return found;
}

export function firstContainer(manifests: readonly Manifest[], component: string): Container {
  const [container] = firstWorkload(manifests, component).pod.containers;
  if (!container) throw new Error(`the ${component} has no container`);
  return container;
}

/** The first object of a kind whose name matches. */
export function named(manifests: readonly Manifest[], kind: string, name: RegExp): Manifest {
  const found = manifests.find((manifest) => manifest.kind === kind && name.test(manifest.metadata.name));
  if (!found) throw new Error(`no ${kind} is called ${name.source}`);
  return found;
}
