import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { idOf, type Manifest, ofKind, workloadsOf } from '../manifest.js';
import type { Policy } from '../policy.js';
import { root } from '../render-overlay.js';
import { environmentOf } from './environment.js';
import { firstContainer, named } from './planting.js';

const bundled = new Set(
  readdirSync(join(root, 'models'))
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -'.yaml'.length)),
);

/** Models of each pool, by Deployment name. */
function poolsOf(manifests: readonly Manifest[]): Map<string, string[]> {
  const workers = workloadsOf(manifests).filter(({ component }) => component === 'worker');
  return new Map(
    workers.map(({ manifest, pod }) => {
      const models = pod.containers.map((container) => environmentOf(container, manifests).SLUICE_MODELS ?? '');
      return [manifest.metadata.name, models.join(',').split(',').filter(Boolean)];
    }),
  );
}

function pulledModels(manifests: readonly Manifest[]): string[] {
  const job = workloadsOf(manifests).find(({ component }) => component === 'models');
  const words = job?.containers[0]?.args ?? [];
  return words.slice(words.indexOf('pull') + 1);
}

/** Models in the Prometheus query of a trigger. */
export function modelsInQuery(query: string): string[] {
  return /\bmodel=~"([^"]*)"/.exec(query)?.[1]?.split('|') ?? [];
}

function miscounted(manifests: readonly Manifest[]): string[] {
  const pools = poolsOf(manifests);
  return ofKind(manifests, 'ScaledObject').flatMap(({ metadata, spec }) =>
    (spec?.triggers ?? [])
      .filter((trigger) => {
        const counted = modelsInQuery(trigger.metadata.query ?? '');
        return counted.sort().join() !== [...(pools.get(spec?.scaleTargetRef?.name ?? '') ?? [])].sort().join();
      })
      .map(({ name }) => `${metadata.name}: ${name}`),
  );
}

/** Triggers whose query is not limited to the namespace of their scaler: another installation would scale the pool. */
function unscoped(manifests: readonly Manifest[]): string[] {
  return ofKind(manifests, 'ScaledObject').flatMap(({ metadata, spec }) =>
    (spec?.triggers ?? [])
      .filter(({ metadata: { query = '' } }) => {
        const selectors = query.match(/sluice_[a-z_]+(\{[^}]*\})?/g) ?? [];
        return selectors.some((selector) => !selector.includes(`namespace="${metadata.namespace}"`));
      })
      .map(({ name }) => `${metadata.name}: ${name}`),
  );
}

/** Job states that make up the load of a pool: waiting jobs alone would omit active ones. */
const neededStates = ['waiting', 'active'];

function halfCounted(manifests: readonly Manifest[]): string[] {
  return ofKind(manifests, 'ScaledObject')
    .filter(({ spec }) => {
      const query = spec?.triggers?.find(({ name }) => name === 'jobs')?.metadata.query ?? '';
      const states = /\bstate=~"([^"]*)"/.exec(query)?.[1]?.split('|') ?? [];
      return !query.includes('sluice_queue_jobs') || neededStates.some((state) => !states.includes(state));
    })
    .map(idOf);
}

function asleep(manifests: readonly Manifest[]): string[] {
  return ofKind(manifests, 'ScaledObject')
    .filter(({ spec }) => spec?.minReplicaCount === 0)
    .filter(
      ({ spec }) =>
        !spec?.triggers?.some(({ metadata }) =>
          metadata.query?.includes('sluice_model_last_unserved_request_timestamp_seconds'),
        ),
    )
    .map(idOf);
}

/** Pools whose workers mount a Secret of the queue of their own, and their models. */
function poolsWithUsers(manifests: readonly Manifest[]): string[] {
  const models = poolsOf(manifests);
  return workloadsOf(manifests)
    .filter(({ component }) => component === 'worker')
    .flatMap(({ manifest, pod }) => {
      const [, pool] = /"sluice-queue-([\w-]+)"/.exec(JSON.stringify(pod.volumes ?? [])) ?? [];
      return pool === undefined ? [] : [`${pool}=${models.get(manifest.metadata.name)?.toSorted().join()}`];
    })
    .toSorted();
}

function migratedPools(manifests: readonly Manifest[]): string[] {
  const job = workloadsOf(manifests).find(({ component }) => component === 'migrate');
  const containers = [...(job?.pod.initContainers ?? []), ...(job?.containers ?? [])];
  const environments = containers.map((container) => environmentOf(container, manifests));
  const text = environments.find(({ SLUICE_POOLS }) => SLUICE_POOLS !== undefined)?.SLUICE_POOLS ?? '';
  return text
    .split(';')
    .filter(Boolean)
    .map((pool) => pool.replace(/=(.*)/, (_all, models: string) => `=${models.split(',').toSorted().join()}`))
    .toSorted();
}

export const poolPolicies: Policy[] = [
  {
    name: 'creates the queue users of exactly the pools that have Secrets of their own, with their models',
    violations: (manifests) => {
      const [wanted, created] = [poolsWithUsers(manifests), migratedPools(manifests)];
      return wanted.join(';') === created.join(';') ? [] : [`wanted ${wanted.join(';')}, created ${created.join(';')}`];
    },
    plant: (manifests) => {
      const pools = named(manifests, 'ConfigMap', /pools/).data!;
      pools.SLUICE_POOLS = pools.SLUICE_POOLS!.replace('stories-15m,', '');
    },
  },
  {
    name: 'serves existing models, each in one pool',
    violations: (manifests) => {
      const served = [...poolsOf(manifests)].flatMap(([pool, models]) => models.map((model) => ({ pool, model })));
      const twice = served.filter(({ model, pool }) => served.some((o) => o.model === model && o.pool !== pool));
      const unknown = served.filter(({ model }) => !bundled.has(model));
      return [...unknown, ...twice].map(({ pool, model }) => `${pool}: ${model}`);
    },
    plant: (manifests) => {
      const { env } = firstContainer(manifests, 'worker');
      env!.find(({ name }) => name === 'SLUICE_MODELS')!.value = 'stories-16m';
    },
  },
  {
    name: 'installs the models that pools with workers serve',
    violations: (manifests) => {
      const pulled = pulledModels(manifests);
      const idle = new Set(
        ofKind(manifests, 'Deployment')
          .filter(({ spec }) => (spec as { replicas?: number }).replicas === 0)
          .map(({ metadata }) => metadata.name),
      );
      return [...poolsOf(manifests)]
        .filter(([pool]) => !idle.has(pool))
        .flatMap(([pool, models]) => models.filter((id) => !pulled.includes(id)).map((id) => `${pool}: ${id}`));
    },
    plant: (manifests) => firstContainer(manifests, 'models').args?.splice(3),
  },
];

/** Only for overlays that scale. */
export const scalingPolicies: Policy[] = [
  {
    name: 'counts for each pool the models that it serves',
    violations: miscounted,
    plant: (manifests) => {
      const [trigger] = named(manifests, 'ScaledObject', /text/).spec!.triggers!;
      trigger!.metadata.query = trigger!.metadata.query!.replace('stories-15m|', '');
    },
  },
  {
    name: 'asks Prometheus for the metrics of its own namespace alone',
    violations: unscoped,
    plant: (manifests) => {
      const trigger = named(manifests, 'ScaledObject', /video/).spec!.triggers!.at(-1);
      trigger!.metadata.query = trigger!.metadata.query!.replace('namespace="sluice"', 'namespace="staging"');
    },
  },
  {
    name: 'scales on waiting and active jobs',
    violations: halfCounted,
    plant: (manifests) => {
      const [trigger] = named(manifests, 'ScaledObject', /image/).spec!.triggers!;
      trigger!.metadata.query = trigger!.metadata.query!.replace('|active', '');
    },
  },
  {
    name: 'wakes every pool that can scale to zero',
    violations: asleep,
    plant: (manifests) => named(manifests, 'ScaledObject', /video/).spec!.triggers!.pop(),
  },
  {
    name: 'scales every pool and the API',
    violations: (manifests) => {
      const scaled = ofKind(manifests, 'HorizontalPodAutoscaler', 'ScaledObject').map(
        ({ spec }) => spec?.scaleTargetRef?.name,
      );
      return ['sluice-api', ...poolsOf(manifests).keys()].filter((name) => !scaled.includes(name));
    },
    plant: (manifests) => manifests.splice(manifests.indexOf(named(manifests, 'HorizontalPodAutoscaler', /api/)), 1),
  },
];
