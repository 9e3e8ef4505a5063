import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ofKind, workloadsOf } from './manifest.js';
import { scalingPolicies } from './policies/pools.js';
import { renderFolder, renderInNamespace, renderWith, root } from './render-overlay.js';

describe('the component pod-monitor', () => {
  const manifests = renderWith('production', 'pod-monitor');
  const [monitor, ...others] = ofKind(manifests, 'PodMonitor');

  it('scrapes api, ops and workers on the port that they name, in their namespace', () => {
    expect(others).toEqual([]);
    const { selector, podMetricsEndpoints } = monitor?.spec ?? {};
    expect(podMetricsEndpoints).toMatchObject([{ port: 'metrics', path: '/metrics' }]);
    const components = selector?.matchExpressions?.find(({ key }) => key === 'app.kubernetes.io/component')?.values;
    const servers = workloadsOf(manifests).filter(({ manifest }) => manifest.kind === 'Deployment');
    expect(new Set(components)).toEqual(new Set(servers.map(({ component }) => component)));
    for (const { manifest, pod } of servers) {
      expect(manifest.metadata.namespace).toBe(monitor?.metadata.namespace);
      expect(manifest.spec?.template?.metadata?.labels).toMatchObject(selector?.matchLabels ?? { missing: 'yes' });
      expect(JSON.stringify(pod.containers), manifest.metadata.name).toContain('"name":"metrics"');
    }
  });
});

describe('k8s/prometheus-operator', () => {
  it('has the alerts of the rules file, and the dashboards', () => {
    const manifests = renderFolder('prometheus-operator');
    const [rule] = ofKind(manifests, 'PrometheusRule');
    const rules = parse(readFileSync(join(root, 'k8s/observability/rules/sluice.rules.yaml'), 'utf8')) as object;
    expect(rule?.spec).toEqual(rules);
    expect(ofKind(manifests, 'ConfigMap').map(({ metadata }) => metadata.name)).toContain('sluice-dashboards');
  });
});

describe('a copy of the production overlay in another namespace', () => {
  it('has scalers that ask for that namespace', () => {
    const manifests = renderInNamespace('production', 'staging');
    const scalers = ofKind(manifests, 'ScaledObject');
    expect(scalers.length).toBeGreaterThan(3);
    expect(scalers.map(({ metadata }) => metadata.namespace)).toEqual(scalers.map(() => 'staging'));
    const policy = scalingPolicies.find(({ name }) => name.includes('own namespace')) ?? expect.fail('no policy');
    expect(policy.violations(manifests)).toEqual([]);
  });
});
