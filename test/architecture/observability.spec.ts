import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readText, repositoryFiles, root } from './repository-files.js';

interface Rules {
  groups: {
    rules: { alert: string; expr: string; labels: { severity: string }; annotations: Record<string, string> }[];
  }[];
}

interface Dashboard {
  templating: { list: { name: string; includeAll?: boolean; multi?: boolean }[] };
  panels: { targets?: { expr: string }[] }[];
}

interface RuleTests {
  tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
}

const { groups } = parse(readText('k8s/observability/rules/sluice.rules.yaml')) as Rules;
const alerts = groups.flatMap(({ rules }) => rules);
const { tests } = parse(readText('k8s/observability/tests/sluice.rules.test.yaml')) as RuleTests;
const trials = tests.flatMap((test) => test.alert_rule_test);

describe('the dashboards', () => {
  it('are what npm run dashboards writes', () => {
    const result = spawnSync(process.execPath, [join(root, 'scripts/generate-observability.mjs'), '--check'], {
      encoding: 'utf8',
    });
    expect(result.stderr).toBe('');
    expect(result.status).toBe(0);
  });
});

describe('two installations behind one Prometheus', () => {
  const folder = 'k8s/observability/dashboards/';
  const dashboards = repositoryFiles.filter((path) => path.startsWith(folder));
  /** Metrics, and neither labels nor names of recording rules. */
  const metric =
    /(?<![\w:])(?!gen_ai_(?:operation_name|provider_name|request_model|token_type)\b)(?:sluice|gen_ai|nodejs|process)_[a-z0-9_]+(\{[^}]*\})?/g;

  it.each(dashboards)('are not added up by %s', (path) => {
    const { templating, panels } = JSON.parse(readText(path)) as Dashboard;
    for (const name of ['namespace', 'installation']) {
      expect(templating.list.find((variable) => variable.name === name)).toMatchObject({
        includeAll: false,
        multi: false,
      });
    }
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expect(expressions.length).toBeGreaterThan(5);
    for (const expression of expressions) {
      for (const [selector] of expression.matchAll(metric)) {
        expect(selector, expression).toContain('namespace=~"$namespace", installation=~"$installation"');
      }
    }
  });

  it.each(alerts)('have alerts of their own: $alert', ({ expr }) => {
    const aggregations = expr.match(/\b(?:sum|max|min|count|avg)\b *(?:by *\([^)]*\))?/g) ?? [];
    const joins = expr.match(/\b(?:on|ignoring|group_left|group_right) *\([^)]*\)/g) ?? [];
    expect(aggregations.length).toBeGreaterThan(0);
    for (const grouping of [...aggregations, ...joins]) expect(grouping, expr).toContain('(namespace, installation');
  });
});

describe('an alert', () => {
  it.each(alerts)('$alert has a runbook page that names it, and a severity', ({ alert, labels, annotations }) => {
    expect(['critical', 'warning']).toContain(labels.severity);
    expect(annotations.summary).toMatch(/\.$/);
    expect(repositoryFiles).toContain(annotations.runbook);
    // Absolute in any installation; promtool's tests render both.
    const base = '{{ or $externalLabels.sluice_docs_url (printf "%s/user" $externalURL) }}';
    expect(annotations.runbook_url?.replace(base, 'docs')).toBe(annotations.runbook);
    expect(readText(annotations.runbook ?? '')).toContain(`\`${alert}\``);
  });

  // `npm test -- alerts` runs these tests.
  it.each(alerts)('$alert is tested with series that fire it and series that do not', ({ alert }) => {
    const own = trials.filter(({ alertname }) => alertname === alert);
    expect(own.some((trial) => trial.exp_alerts.length > 0)).toBe(true);
    expect(own.some((trial) => trial.exp_alerts.length === 0)).toBe(true);
  });

  it('has a unique name, and every runbook an alert', () => {
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
    const pages = repositoryFiles.filter((path) => /^docs\/runbooks\/.+\.md$/.test(path));
    expect(new Set(pages)).toEqual(new Set(alerts.map(({ annotations }) => annotations.runbook)));
  });
});

it('has runbooks that the Prometheus of compose serves, or a published address', () => {
  const { services } = parse(readText('docker/compose.yaml')) as { services: Record<string, Record<string, unknown>> };
  const { command, volumes, environment } = services['prometheus'] ?? {};
  // `/user` is the path of user assets.
  expect(command).toContain('--web.user-assets=/etc/prometheus/docs');
  expect(volumes).toContain('../docs:/etc/prometheus/docs:ro');
  expect(environment).toMatchObject({ SLUICE_DOCS_URL: '${SLUICE_DOCS_URL:-}' });
  expect(parse(readText('docker/compose/prometheus.yaml'))).toMatchObject({
    global: { external_labels: { sluice_docs_url: '${SLUICE_DOCS_URL}' } },
  });
});
