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

/** The models of each pool, by the Deployment's name. */
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

/** The models that a trigger asks Prometheus about. */
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

/** The states that a pool works off; a list of waiting jobs alone forgets those in order of priority and those that run. */
const neededStates = ['waiting', 'prioritized', 'active'];

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

export const poolPolicies: Policy[] = [
  {
    name: 'serves models that there are, each in one pool',
    offences: (manifests) => {
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
    name: 'installs what the pools with workers serve',
    offences: (manifests) => {
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

/** Of overlays that scale. */
export const scalingPolicies: Policy[] = [
  {
    name: 'counts for each pool the models that it serves',
    offences: miscounted,
    plant: (manifests) => {
      const [trigger] = named(manifests, 'ScaledObject', /text/).spec!.triggers!;
      trigger!.metadata.query = trigger!.metadata.query!.replace('stories-15m|', '');
    },
  },
  {
    name: 'scales on jobs that wait, in order or by priority, and that run',
    offences: halfCounted,
    plant: (manifests) => {
      const [trigger] = named(manifests, 'ScaledObject', /image/).spec!.triggers!;
      trigger!.metadata.query = trigger!.metadata.query!.replace('|active', '');
    },
  },
  {
    name: 'wakes every pool that may sleep',
    offences: asleep,
    plant: (manifests) => named(manifests, 'ScaledObject', /video/).spec!.triggers!.pop(),
  },
  {
    name: 'scales every pool and the api',
    offences: (manifests) => {
      const scaled = ofKind(manifests, 'HorizontalPodAutoscaler', 'ScaledObject').map(
        ({ spec }) => spec?.scaleTargetRef?.name,
      );
      return ['sluice-api', ...poolsOf(manifests).keys()].filter((name) => !scaled.includes(name));
    },
    plant: (manifests) => manifests.splice(manifests.indexOf(named(manifests, 'HorizontalPodAutoscaler', /api/)), 1),
  },
];
