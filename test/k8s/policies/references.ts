import { type Manifest, ofKind, type PodSpec, type Workload, workloadsOf } from '../manifest.js';
import type { Policy } from '../policy.js';
import { firstContainer, firstWorkload } from './planting.js';

const pools = ['text', 'embedding', 'image', 'audio', 'video'];

/** Secrets that a production cluster must provide, with their keys; `docs/operate/kubernetes.md` lists them. */
export const secrets: Record<string, string[]> = {
  'sluice-database': ['url', 'password'],
  'sluice-queue': ['url', 'key'],
  'sluice-payloads': ['key'],
  ...Object.fromEntries(pools.map((pool) => [`sluice-queue-${pool}`, ['url', 'key']])),
  ...Object.fromEntries(
    ['', '-root', '-worker', ...pools.map((pool) => `-${pool}`)].map((user) => [
      `sluice-artifacts${user}`,
      ['access-key-id', 'secret-access-key'],
    ]),
  ),
};

/** Secrets and keys that a workload mounts or reads. */
export function secretKeysOf({ pod, containers }: Workload): { name: string; key: string }[] {
  const projected = (pod.volumes ?? []).flatMap(({ projected: volume }) =>
    (volume?.sources ?? []).flatMap(({ secret }) =>
      (secret?.items ?? []).map(({ key }) => ({ name: secret?.name ?? '', key })),
    ),
  );
  const direct = containers.flatMap(({ env = [] }) => env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []));
  return [...projected, ...direct];
}

function danglingSecrets(manifests: readonly Manifest[]): string[] {
  const made = new Map(
    ofKind(manifests, 'Secret').map(({ metadata, data }) => [metadata.name, Object.keys(data ?? {})]),
  );
  return workloadsOf(manifests).flatMap((workload) =>
    secretKeysOf(workload)
      .filter(({ name, key }) => !(made.size > 0 ? made.get(name) : secrets[name])?.includes(key))
      .map(({ name, key }) => `${workload.id}: ${name}/${key}`),
  );
}

function dangling(manifests: readonly Manifest[]): string[] {
  const there = (kind: string) => new Set(ofKind(manifests, kind).map(({ metadata }) => metadata.name));
  const [claims, maps, accounts] = ['PersistentVolumeClaim', 'ConfigMap', 'ServiceAccount'].map(there);
  return workloadsOf(manifests).flatMap(({ id, pod, containers }) => {
    const wanted: [string, Set<string> | undefined, string[]][] = [
      ['claim', claims, (pod.volumes ?? []).flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? [])],
      ['map', maps, containers.flatMap(({ envFrom = [] }) => envFrom.flatMap((from) => from.configMapRef?.name ?? []))],
      ['account', accounts, pod.serviceAccountName ? [pod.serviceAccountName] : []],
      ['volume', volumeNames(pod), containers.flatMap((each) => (each.volumeMounts ?? []).map(({ name }) => name))],
    ];
    return wanted.flatMap(([what, known, names]) =>
      names.filter((name) => !known?.has(name)).map((name) => `${id}: ${what} ${name}`),
    );
  });
}

const volumeNames = (pod: PodSpec) => new Set((pod.volumes ?? []).map(({ name }) => name));

const looksSecret = /(PASSWORD|SECRET|TOKEN|_KEY|DATABASE_URL|REDIS_URL|QUEUE_URL)$/;

/** Secrets in manifests end up in histories and dashboards. */
function writtenOut(manifests: readonly Manifest[]): string[] {
  const written = workloadsOf(manifests).flatMap(({ id, containers }) =>
    containers.flatMap(({ env = [] }) =>
      env
        .filter(({ name, value }) => value !== undefined && looksSecret.test(name))
        .map(({ name }) => `${id}: ${name}`),
    ),
  );
  const mapped = ofKind(manifests, 'ConfigMap').flatMap(({ metadata, data }) =>
    Object.keys(data ?? {})
      .filter((name) => looksSecret.test(name))
      .map((name) => `ConfigMap/${metadata.name}: ${name}`),
  );
  return [...written, ...mapped];
}

export const referencePolicies: Policy[] = [
  {
    name: 'names only existing claims, config maps, accounts and volumes',
    violations: dangling,
    plant: (manifests) => (firstWorkload(manifests, 'api').pod.serviceAccountName = 'sluice-apy'),
  },
  {
    name: 'names only secrets that are generated or documented',
    violations: danglingSecrets,
    plant: (manifests) => {
      const source = firstWorkload(manifests, 'ops').pod.volumes?.find(({ projected }) => projected);
      source!.projected!.sources[0]!.secret!.items![0]!.key = 'uri';
    },
  },
  {
    name: 'contains no secret value',
    violations: writtenOut,
    plant: (manifests) => firstContainer(manifests, 'api').env?.push({ name: 'SLUICE_SECRET_KEY', value: 'ab' }),
  },
];
