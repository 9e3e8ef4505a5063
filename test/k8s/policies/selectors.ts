import { idOf, type Manifest, ofKind, selects, type Workload, workloadsOf } from '../manifest.js';
import type { Policy } from '../policy.js';
import { firstWorkload, named } from './planting.js';

const controllers = ['Deployment', 'StatefulSet'];

function selectedBy(manifest: Manifest, workloads: Workload[]): Workload[] {
  const selector = manifest.kind === 'Service' ? { matchLabels: manifest.spec?.selector } : manifest.spec?.selector;
  return workloads.filter(({ labels }) => selects(selector ?? {}, labels));
}

/** Each selects the pods of one workload: fewer is a typo, more is a mix-up. */
function ambiguous(manifests: readonly Manifest[]): string[] {
  const workloads = workloadsOf(manifests);
  return ofKind(manifests, ...controllers, 'Service', 'PodDisruptionBudget')
    .map((manifest) => ({ manifest, found: selectedBy(manifest, workloads).map(({ id }) => id) }))
    .filter(({ manifest, found }) => {
      const isOwn = !controllers.includes(manifest.kind) || found[0] === idOf(manifest);
      return found.length !== 1 || !isOwn;
    })
    .map(({ manifest, found }) => `${idOf(manifest)} selects ${found.join(', ') || 'nothing'}`);
}

function unspread(manifests: readonly Manifest[]): string[] {
  return workloadsOf(manifests)
    .filter(({ component }) => component === 'api' || component === 'ops' || component === 'worker')
    .filter(({ labels, pod }) => {
      const constraints = pod.topologySpreadConstraints ?? [];
      return (
        constraints.length === 0 || !constraints.every(({ labelSelector }) => selects(labelSelector ?? {}, labels))
      );
    })
    .map(({ id }) => id);
}

/** Pods without a disruption budget may all be evicted at once when a node is drained. */
function unprotected(manifests: readonly Manifest[]): string[] {
  const workloads = workloadsOf(manifests);
  const covered = new Set(ofKind(manifests, 'PodDisruptionBudget').flatMap((budget) => selectedBy(budget, workloads)));
  return workloads
    .filter(({ component, manifest }) => component !== undefined && manifest.kind === 'Deployment')
    .filter((workload) => !covered.has(workload))
    .map(({ id }) => id);
}

export const selectorPolicies: Policy[] = [
  {
    name: 'has selectors that match exactly one workload each',
    violations: ambiguous,
    plant: (manifests) => (named(manifests, 'Service', /api/).spec!.selector = { 'app.kubernetes.io/name': 'sluice' }),
  },
  {
    name: 'spreads its processes over zones and nodes by existing labels',
    violations: unspread,
    plant: (manifests) => {
      const [constraint] = firstWorkload(manifests, 'worker').pod.topologySpreadConstraints ?? [];
      constraint!.labelSelector = { matchLabels: { 'sluice/pool': 'other' } };
    },
  },
  {
    name: 'has a disruption budget for every Deployment',
    violations: unprotected,
    plant: (manifests) => {
      const budget = named(manifests, 'PodDisruptionBudget', /text/);
      manifests.splice(manifests.indexOf(budget), 1);
    },
  },
  {
    name: 'scales only existing workloads',
    violations: (manifests) => {
      const targets = new Set(ofKind(manifests, 'Deployment').map(({ metadata }) => metadata.name));
      return ofKind(manifests, 'HorizontalPodAutoscaler', 'ScaledObject')
        .filter(({ spec }) => !targets.has(spec?.scaleTargetRef?.name ?? ''))
        .map(idOf);
    },
    plant: (manifests) =>
      manifests.push({
        apiVersion: 'autoscaling/v2',
        kind: 'HorizontalPodAutoscaler',
        metadata: { name: 'stray' },
        spec: { scaleTargetRef: { name: 'sluice-nobody' } },
      }),
  },
];
