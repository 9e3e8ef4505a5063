import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiConfig, CliConfig, ConfigError, OpsConfig, parseConfig, variablesOf, WorkerConfig } from '#platform/config';
import { type Container, type Manifest, ofKind, workloadsOf } from '../manifest.js';
import type { Policy } from '../policy.js';
import { firstContainer } from './planting.js';

type ConfigClass = new () => object;

/** Config classes of the environment of each process. */
export const configOfComponent: Record<string, ConfigClass> = {
  api: ApiConfig,
  ops: OpsConfig,
  worker: WorkerConfig,
  migrate: CliConfig,
  models: CliConfig,
};

/** Example secret value, by the variable that names its file. */
const samples: Record<string, string> = {
  DATABASE_URL: 'postgresql://user:password@host:5432/database',
  REDIS_URL: 'redis://host:6379',
  SLUICE_QUEUE_KEY: 'cd'.repeat(32),
  SLUICE_SECRET_KEY: 'ab'.repeat(32),
  SLUICE_S3_ACCESS_KEY_ID: 'id',
  SLUICE_S3_SECRET_ACCESS_KEY: 'secret',
};

let folder: string | null = null;

/** File path of a mounted secret; in a pod it is part of a volume. */
function sampleFile(variable: string): string {
  folder ??= mkdtempSync(join(tmpdir(), 'sluice-k8s-secrets-'));
  const path = join(folder, variable);
  writeFileSync(path, samples[variable] ?? '');
  return path;
}

/** The environment of a container: settings first, secrets as files. */
export function environmentOf(container: Container, manifests: readonly Manifest[]): Record<string, string> {
  const maps = new Map(ofKind(manifests, 'ConfigMap').map(({ metadata, data }) => [metadata.name, data ?? {}]));
  const settings = (container.envFrom ?? []).map((from) => maps.get(from.configMapRef?.name ?? '') ?? {});
  const own = (container.env ?? []).map(({ name, value = '' }) => [name, value] as const);
  const all: Record<string, string> = Object.assign({}, ...settings, Object.fromEntries(own));
  return all;
}

function unread(environment: Record<string, string>, configClass: ConfigClass): string[] {
  const variables = variablesOf(configClass);
  const names = new Set(variables.flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : [name])));
  return Object.keys(environment)
    .filter((name) => !names.has(name))
    .map((name) => `${name} is not read by any process`);
}

/** Configuration errors that the process itself reports for this environment. */
function refused(environment: Record<string, string>, configClass: ConfigClass): string[] {
  const files = Object.keys(environment)
    .filter((name) => name.endsWith('_FILE'))
    .map((name) => [name, sampleFile(name.slice(0, -'_FILE'.length))]);
  try {
    parseConfig(configClass, { ...environment, ...Object.fromEntries(files) });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** Every process of the overlay with the environment errors that `problemsOf` returns. */
function findEnvironmentErrors(
  manifests: readonly Manifest[],
  problemsOf: (environment: Record<string, string>, configClass: ConfigClass) => string[],
): string[] {
  return workloadsOf(manifests).flatMap(({ id, component, containers }) => {
    const configClass = component === undefined ? undefined : configOfComponent[component];
    if (configClass === undefined) return component === undefined ? [] : [`${id}: component ${component} is unknown`];
    return containers.flatMap((container) =>
      problemsOf(environmentOf(container, manifests), configClass).map(
        (problem) => `${id}/${container.name}: ${problem}`,
      ),
    );
  });
}

export const environmentPolicies: Policy[] = [
  {
    name: 'sets only variables that the process reads',
    violations: (manifests) => findEnvironmentErrors(manifests, unread),
    plant: (manifests) => firstContainer(manifests, 'worker').env?.push({ name: 'SLUICE_QUEUE_LIMIT', value: '5' }),
  },
  {
    name: 'gives every process a valid environment',
    violations: (manifests) => findEnvironmentErrors(manifests, refused),
    plant: (manifests) => {
      const { env } = firstContainer(manifests, 'ops');
      env!.find(({ name }) => name === 'SLUICE_OPS_PORT')!.value = 'many';
    },
  },
  {
    name: 'mounts every file that a variable names',
    violations: (manifests) =>
      workloadsOf(manifests).flatMap(({ id, pod, containers }) =>
        containers.flatMap(({ env = [], volumeMounts = [] }) => {
          const files = volumeMounts.flatMap(({ name, mountPath }) => {
            const volume = pod.volumes?.find((each) => each.name === name)?.projected;
            return (volume?.sources ?? []).flatMap(({ secret }) =>
              (secret?.items ?? []).map(({ path }) => `${mountPath}/${path}`),
            );
          });
          return env
            .filter(({ name, value }) => name.endsWith('_FILE') && !files.includes(value ?? ''))
            .map(({ name }) => `${id}: ${name}`);
        }),
      ),
    plant: (manifests) => delete firstContainer(manifests, 'api').volumeMounts,
  },
];
