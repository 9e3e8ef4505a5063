import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Container, workloadsOf } from './manifest.js';
import { everywhere, scalingPolicies } from './policies/all.js';
import { secretKeysOf } from './policies/references.js';
import { overlays, renderOverlay, renderWith, root } from './render-overlay.js';

describe.each(overlays)('the overlay %s', (overlay) => {
  const manifests = renderOverlay(overlay);
  // A development cluster has neither KEDA nor a Prometheus adapter.
  const policies = overlay === 'dev' ? everywhere : [...everywhere, ...scalingPolicies];

  it.each(policies.map((policy) => [policy.name, policy] as const))('%s', (_name, policy) => {
    expect(policy.violations(manifests)).toEqual([]);
  });

  it('contains no secret, unless it is for development', () => {
    expect(manifests.some(({ kind }) => kind === 'Secret')).toBe(overlay === 'dev');
  });
});

describe('the overlay gpu', () => {
  it('gives each worker on a GPU a whole card', () => {
    const workers = workloadsOf(renderOverlay('gpu')).filter(({ component }) => component === 'worker');
    const cards = workers.map(({ id, pod }) => [id, pod.containers[0]?.resources?.limits?.['nvidia.com/gpu'] ?? '0']);
    expect(Object.fromEntries(cards)).toEqual({
      'Deployment/sluice-worker-audio': '0',
      'Deployment/sluice-worker-embedding': '0',
      'Deployment/sluice-worker-image': '1',
      'Deployment/sluice-worker-text': '1',
      'Deployment/sluice-worker-video': '1',
    });
  });
});

describe('the component pool-credentials beside the bundled stores', () => {
  it('lets the object store create a user for each pool of the job, from keys that it does not see', () => {
    const workloads = workloadsOf(renderWith('dev', 'pool-credentials'));
    const { pod } = workloads.find(({ id }) => id === 'StatefulSet/sluice-artifacts') ?? expect.fail('no store');
    const job = workloads.find(({ component }) => component === 'migrate')?.pod.initContainers?.[0];
    const [creator] = pod.initContainers ?? [];
    const mapsOf = (container?: Container) => container?.envFrom?.map(({ configMapRef }) => configMapRef?.name);
    expect(creator?.args).toEqual(['bin/sluice.mjs', 'pools', 'storage-users', '--group', '/run/pool-users']);
    expect(mapsOf(creator)).toContain(mapsOf(job)?.[0]);
    const mounts = pod.containers[0]?.volumeMounts?.map(({ name }) => name) ?? [];
    expect(mounts).toContain('pool-users');
    expect(mounts).not.toContain('queue-key');
  });
});

describe('the component own-models', () => {
  const manifests = renderWith('production', 'own-models');
  const jobOf = (component: string) =>
    workloadsOf(manifests).find((each) => each.component === component)?.pod ?? expect.fail(`no job ${component}`);

  it.each(everywhere.map((policy) => [policy.name, policy] as const))('%s', (_name, policy) => {
    expect(policy.violations(manifests)).toEqual([]);
  });

  it('installs the manifests of the ConfigMap in one job, and registers them in the other', () => {
    const [pull] = jobOf('models').containers;
    const register = jobOf('migrate').containers.find(({ name }) => name === 'register-own-models');
    expect(pull?.args?.slice(-2)).toEqual(['--manifests', '/own-models']);
    expect(register?.args).toEqual(['bin/sluice.mjs', 'models', 'sync', '/own-models']);
    for (const container of [pull, register]) {
      expect(container?.volumeMounts).toContainEqual({ name: 'own-models', mountPath: '/own-models', readOnly: true });
    }
  });
});

describe('docs/operate/kubernetes.md', () => {
  it('lists every secret with the keys that production pods mount', () => {
    const page = readFileSync(join(root, 'docs', 'operate', 'kubernetes.md'), 'utf8');
    const wanted = workloadsOf(renderOverlay('production')).flatMap(secretKeysOf);
    const rowOf = (name: string) => name.replace(/-(text|embedding|image|audio|video)$/, '-<pool>');
    const missing = wanted.filter(({ name, key }) => !new RegExp(`\\| \`${rowOf(name)}\` .*\`${key}\``).test(page));
    expect(wanted.length).toBeGreaterThan(10);
    expect(missing).toEqual([]);
  });
});

describe('a planted violation is found by the policy that', () => {
  const manifests = renderOverlay('production');

  it.each([...everywhere, ...scalingPolicies].map((policy) => [policy.name, policy] as const))(
    '%s',
    (_name, policy) => {
      const violating = structuredClone(manifests);
      policy.plant(violating);
      expect(policy.violations(violating).length).toBeGreaterThan(0);
    },
  );
});
