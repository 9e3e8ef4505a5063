import { beforeAll, describe, expect, it } from 'vitest';
import { type Container, idOf, type Manifest, ofKind, type Workload, workloadsOf } from './manifest.js';
import { everywhere, scalingPolicies } from './policies/all.js';
import { lintChart, renderChart } from './render-chart.js';
import { renderFolder, renderOverlay, renderWith } from './render-overlay.js';
import { wrongFields, wrongValues } from './schemas.js';

/* The Helm chart: renders what kustomize renders, and everything that can be set arrives at every component. */

/** Labels and annotations that only Helm adds. */
const ofHelm = [
  'app.kubernetes.io/instance',
  'app.kubernetes.io/managed-by',
  'app.kubernetes.io/version',
  'helm.sh/chart',
  'helm.sh/resource-policy',
  'checksum/settings',
];

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A copy without what Helm adds, without hashes in names, and with variables in order of their names. */
function comparable(value: unknown, key = ''): unknown {
  if (typeof value === 'string')
    return value.replace(/^(sluice-(settings|pools|migrate|models))-[a-z0-9]{8,10}$/, '$1');
  if (Array.isArray(value)) {
    const items = value.map((item) => comparable(item));
    const nameOf = (item: unknown) => (isRecord(item) ? String(item.name) : '');
    return key === 'env' ? items.sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1)) : items;
  }
  if (!isRecord(value)) return value;
  const entries = Object.entries(value)
    .filter(([name]) => !ofHelm.includes(name))
    // Components of kustomize are rendered without this one.
    .filter(([name]) => !(key === 'labels' && name === 'app.kubernetes.io/part-of'))
    .map(([name, item]) => [name, comparable(item, name)] as const);
  return Object.fromEntries(entries.filter(([name, item]) => !isEmptyMetadata(name, item)));
}

const isEmptyMetadata = (name: string, item: unknown) =>
  ['labels', 'annotations'].includes(name) && isRecord(item) && Object.keys(item).length === 0;

/** Objects by kind and name. */
function byId(manifests: readonly Manifest[], without: readonly string[] = []): Map<string, unknown> {
  const compared = manifests.map((manifest) => comparable(manifest) as Manifest);
  return new Map(
    compared
      .filter(({ kind }) => !without.includes(kind))
      .map((manifest) => [
        idOf(manifest),
        { ...manifest, metadata: { ...manifest.metadata, labels: ownLabels(manifest) } },
      ]),
  );
}

/** Labels of the object itself: components of kustomize set none on these kinds. */
function ownLabels({ kind, metadata }: Manifest): unknown {
  return kind === 'Ingress' || kind === 'ConfigMap' ? {} : (metadata.labels ?? {});
}

function expectSame(rendered: readonly Manifest[], expected: readonly Manifest[], without: readonly string[]): void {
  const [found, wanted] = [byId(rendered, without), byId(expected, without)];
  expect([...found.keys()].sort()).toEqual([...wanted.keys()].sort());
  for (const [id, manifest] of wanted) expect(found.get(id), id).toEqual(manifest);
}

describe('the chart', { timeout: 120_000 }, () => {
  it.each([[[]], [['everything']], [['production']], [['production', 'gpu']]])('passes helm lint with %j', (files) => {
    expect(lintChart(files)).toContain('0 chart(s) failed');
  });

  it('renders by default what the base renders, but for the namespace', () => {
    const rendered = renderChart();
    expect(rendered.length).toBeGreaterThan(30);
    expectSame(rendered, renderFolder('base'), ['Namespace']);
  });

  it('renders the overlay production from production-values.yaml, but for the networks of its stores', () => {
    expectSame(renderChart(['production']), renderOverlay('production'), ['Namespace', 'NetworkPolicy']);
  });

  it('renders the overlay gpu from gpu-values.yaml', () => {
    expectSame(renderChart(['production', 'gpu']), renderOverlay('gpu'), ['Namespace', 'NetworkPolicy']);
  });

  it('renders the component pod-monitor', () => {
    const [monitor] = ofKind(renderChart([], { set: ['podMonitor.enabled=true'] }), 'PodMonitor');
    const [expected] = ofKind(renderWith('production', 'pod-monitor'), 'PodMonitor');
    expect(comparable(monitor)).toEqual(comparable(expected));
  });

  it('forwards the api, the pages of the console and the api that they read', () => {
    const [ingress] = ofKind(renderChart(['production']), 'Ingress');
    for (const path of ['/api/v1', '/api/admin/v1', '/console', '/docs'])
      expect(JSON.stringify(ingress)).toContain(`"path":"${path}"`);
  });

  it('asks for the metrics of its own namespace', () => {
    const manifests = renderChart(['production'], { namespace: 'staging' });
    const policy = scalingPolicies.find(({ name }) => name.includes('own namespace')) ?? expect.fail('no policy');
    expect(ofKind(manifests, 'ScaledObject').length).toBeGreaterThan(3);
    expect(policy.violations(manifests)).toEqual([]);
  });
});

const renders: [string, Manifest[]][] = [
  ['the default values', renderChart()],
  ['everything-values.yaml', renderChart(['everything'])],
];

/** Without what the operator adds, which the policies cannot know. */
function withoutExtras(manifests: readonly Manifest[]): Manifest[] {
  const keep = <Item>(items: Item[] | undefined, nameOf: (item: Item) => string | undefined) =>
    items?.filter((item) => !/^extra/i.test(nameOf(item) ?? ''));
  const copies = structuredClone([...manifests]);
  for (const { pod } of workloadsOf(copies)) {
    pod.volumes = keep(pod.volumes, ({ name }) => name);
    pod.containers = keep(pod.containers, ({ name }) => name) ?? [];
    pod.initContainers = keep(pod.initContainers, ({ name }) => name);
    for (const container of [...pod.containers, ...(pod.initContainers ?? [])]) {
      container.env = keep(container.env, ({ name }) => name);
      container.envFrom = keep(container.envFrom, ({ configMapRef }) => configMapRef?.name);
      container.volumeMounts = keep(container.volumeMounts, ({ name }) => name);
    }
  }
  return copies;
}

describe.each(renders)('the chart with %s', (name, manifests) => {
  // Its schema is in no package.
  const known = manifests.filter(({ kind }) => kind !== 'PodMonitor');
  let unknownFields: string[] = [];

  beforeAll(() => {
    unknownFields = wrongFields(known).flatMap((texts, index) =>
      texts.map((text) => `${idOf(known[index]!)}: ${text}`),
    );
  }, 120_000);

  it('has valid values for the schemas of Kubernetes and KEDA', async () => {
    expect(await wrongValues(known)).toEqual([]);
  });

  it('has no unknown field', () => expect(unknownFields).toEqual([]));

  const policies = name.startsWith('everything') ? [...everywhere, ...scalingPolicies] : everywhere;
  it.each(policies.map((policy) => [policy.name, policy] as const))('%s', (_name, policy) => {
    // Its last pool has a name of its own, for which the policy's list has no Secrets.
    const isOwnPool = (text: string) => /sluice-worker-clips: sluice-(queue|artifacts)-clips\//.test(text);
    expect(policy.violations(withoutExtras(manifests)).filter((text) => !isOwnPool(text))).toEqual([]);
  });

  it('contains no Secret', () => expect(ofKind(manifests, 'Secret')).toEqual([]));
});

describe('everything-values.yaml', () => {
  const manifests = renderChart(['everything']);
  const workloads = workloadsOf(manifests);
  const processes = ({ pod }: Workload) => pod.containers.filter(({ name }) => !name.startsWith('extra'));
  const all = ({ pod }: Workload) => [...(pod.initContainers ?? []), ...pod.containers];

  it('covers api, ops, each pool and both jobs', () => {
    expect(workloads.map(({ id }) => id.replace(/-[0-9a-f]{8}$/, '')).sort()).toEqual([
      'Deployment/sluice-api',
      'Deployment/sluice-ops',
      ...['audio', 'clips', 'embedding', 'image', 'text'].map((pool) => `Deployment/sluice-worker-${pool}`),
      'Job/sluice-migrate',
      'Job/sluice-models',
    ]);
  });

  const own = { mountPath: '/extra', name: 'extra', readOnly: true };
  it.each<[string, (workload: Workload, pod: Record<string, unknown>) => boolean]>([
    ['nodeSelector', (_workload, pod) => JSON.stringify(pod.nodeSelector).includes('"kubernetes.io/arch":"amd64"')],
    ['tolerations', (_workload, pod) => JSON.stringify(pod.tolerations).includes('"dedicated"')],
    ['affinity', (_workload, pod) => JSON.stringify(pod.affinity).includes('example.com/tier')],
    ['topologySpreadConstraints', ({ pod }) => JSON.stringify(pod.topologySpreadConstraints).includes('DoNotSchedule')],
    ['priorityClassName', (_workload, pod) => pod.priorityClassName === 'inference'],
    ['runtimeClassName', (_workload, pod) => pod.runtimeClassName === 'runc'],
    ['schedulerName', (_workload, pod) => pod.schedulerName === 'bin-packing'],
    ['imagePullSecrets', (_workload, pod) => JSON.stringify(pod.imagePullSecrets) === '[{"name":"registry"}]'],
    ['podSecurityContext', ({ pod }) => JSON.stringify(pod.securityContext).includes('10002')],
    [
      'securityContext',
      (each) => processes(each).every(({ securityContext }) => securityContext?.runAsUser === 10_003),
    ],
    ['annotations', ({ manifest }) => manifest.metadata.annotations?.['example.com/workload'] === 'yes'],
    ['labels', ({ manifest }) => manifest.metadata.labels?.['example.com/workload'] === 'yes'],
    ['podLabels', ({ labels }) => labels['sidecar.istio.io/inject'] === 'false'],
    [
      'podAnnotations',
      ({ manifest }) => manifest.spec?.template?.metadata?.annotations?.['sidecar.istio.io/inject'] === 'false',
    ],
    ['lifecycle', (each) => processes(each).every(({ lifecycle }) => lifecycle?.preStop?.exec?.command[0] === 'sleep')],
    ['terminationGracePeriodSeconds', ({ pod }) => (pod.terminationGracePeriodSeconds ?? 0) >= 45],
    ['extraVolumes', ({ pod }) => pod.volumes?.some(({ name, configMap }) => name === 'extra' && configMap) === true],
    ['extraVolumeMounts', (each) => processes(each).every(({ volumeMounts }) => includes(volumeMounts, own))],
    ['extraEnv', (each) => processes(each).every(({ env }) => env?.some(({ name }) => name === 'EXTRA_CA'))],
    [
      'extraEnvFrom',
      (each) => processes(each).every(({ envFrom }) => /extra-environment/.test(JSON.stringify(envFrom))),
    ],
    ['extraContainers', (each) => all(each).some(({ name }) => name === 'extra-proxy')],
    ['extraInitContainers', ({ pod }) => pod.initContainers?.some(({ name }) => name === 'extra-init') === true],
    ['the registry', (each) => processes(each).every(({ image }) => image.startsWith('registry.example.com/sluice/'))],
  ])('sets %s on every component and on both jobs', (_name, isSet) => {
    const missing = workloads.filter((each) => !isSet(each, each.pod as unknown as Record<string, unknown>));
    expect(missing.map(({ id }) => id)).toEqual([]);
  });

  it('annotates the account of every component', () => {
    const accounts = ofKind(manifests, 'ServiceAccount').map(({ metadata }) => metadata);
    expect(accounts.map(({ annotations }) => annotations?.['example.com/role'] ?? '').toSorted()).toEqual([
      'api',
      'jobs',
      'ops',
      'worker',
    ]);
    const used = new Set(workloads.map(({ pod }) => pod.serviceAccountName));
    expect(used).toEqual(new Set(accounts.map(({ name }) => name)));
  });

  it('chooses the GPU of each pool by its resource, and its type by a node label', () => {
    const poolOf = (name: string) => workloads.find(({ id }) => id.endsWith(`worker-${name}`)) ?? expect.fail(name);
    const limitsOf = (name: string) => processes(poolOf(name))[0]?.resources?.limits;
    expect(limitsOf('text')).toMatchObject({ 'nvidia.com/gpu': '2' });
    expect(limitsOf('image')).toMatchObject({ 'nvidia.com/mig-3g.40gb': '1' });
    expect(poolOf('text').pod).toMatchObject({ nodeSelector: { 'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3' } });
  });
});

function includes<Item>(items: readonly Item[] | undefined, wanted: Item): boolean {
  return (
    items?.some((item) =>
      Object.entries(wanted as object).every(([key, value]) => item[key as keyof Item] === value),
    ) === true
  );
}

describe('the migration job', { timeout: 120_000 }, () => {
  const jobOf = (set: string[] = []) => {
    const job = workloadsOf(renderChart([], { set })).find(({ component }) => component === 'migrate');
    return job ?? expect.fail('no job');
  };
  const proxy = ['migration.extraContainers[0].name=proxy', 'migration.extraContainers[0].image=proxy:1.0.0'];

  it('may take an hour', () => {
    expect(jobOf().manifest.spec).toMatchObject({ activeDeadlineSeconds: 3_600 });
  });

  it('ends beside a sidecar: extra containers are native sidecars, which start first', () => {
    const { pod } = jobOf(proxy);
    const [first] = pod.initContainers as (Container & { restartPolicy?: string })[];
    expect(first).toMatchObject({ name: 'proxy', restartPolicy: 'Always' });
    expect(pod.containers.map(({ name }) => name)).not.toContain('proxy');
  });

  it('has another name when anything in its pods changes, because a Job is immutable, and else the same', () => {
    expect(jobOf().id).toBe(jobOf(['api.replicas=3']).id);
    for (const set of [['image.tag=0.2.0'], proxy]) expect(jobOf(set).id).not.toBe(jobOf().id);
  });
});

describe('values that cannot work', { timeout: 120_000 }, () => {
  it.each([
    ['a misspelled name', 'iamge.tag=1', /'iamge' not allowed/],
    ['a misspelled name of a component', 'api.nodeSelectr.a=b', /'nodeSelectr' not allowed/],
    ['a misspelled name of a pool', 'pools.text.model=x', /'model' not allowed/],
    ['a wrong type', 'ops.replicas=many', /want integer/],
    ['a pool without models', 'pools.more.enabled=true', /missing propert/],
    ['a network that is none', 'networkPolicy.stores.database.cidrs[0]=postgres.example.com', /does not match pattern/],
    ['an api that is killed before its streams end', 'api.shutdownGraceMs=600000', /needs at least 615/],
    ['a worker that is killed before its jobs end', 'pools.text.drainMs=600000', /needs at least 610/],
  ])('are refused: %s', (_name, set, message) => {
    expect(() => renderChart([], { set: [set] })).toThrow(message);
  });
});
