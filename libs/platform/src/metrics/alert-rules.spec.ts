import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { alertHolds, type AlertName, type AlertRule, alertRules } from './alert-rules.js';

interface PrometheusRule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { runbook: string };
}

const file = new URL('../../../../k8s/observability/rules/sluice.rules.yaml', import.meta.url);
const { groups } = parse(readFileSync(file, 'utf8')) as { groups: { rules: PrometheusRule[] }[] };
const prometheus = new Map(groups.flatMap(({ rules }) => rules).map((rule) => [rule.alert, rule]));

const unitsMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000 };

function msOf(duration = '0s'): number {
  const [, count = '', unit = ''] = /^(\d+)([smh])$/.exec(duration) ?? [];
  return Number(count) * (unitsMs[unit] ?? Number.NaN);
}

describe('an alert that is judged without Prometheus', () => {
  it.each(Object.entries<AlertRule>(alertRules))('has the thresholds of its rule: %s', (name, rule) => {
    const own = prometheus.get(name) ?? expect.fail(`There is no rule ${name}.`);
    const expr = own.expr.replaceAll(/\{[^}]*\}/g, '');
    const comparisons = [...expr.matchAll(/(==|!=|>=|<=|>|<) *(\S+)/g)].map(([, operator, limit]) => [
      operator,
      Number(limit),
    ]);
    const windows = [...expr.matchAll(/\[(\w+)\]/g)].map(([, window]) => msOf(window));
    expect({ name, severity: own.labels.severity, comparisons, windows, forMs: msOf(own.for) }).toEqual({
      name,
      severity: rule.severity,
      comparisons: rule.comparisons,
      windows: rule.windowMs === undefined ? [] : [rule.windowMs],
      forMs: rule.forMs,
    });
    expect(own.annotations.runbook).toBe(`docs/runbooks/${rule.runbook}.md`);
  });

  it.each<[AlertName, number[], boolean]>([
    ['SluiceJobsWaitLong', [120], false],
    ['SluiceJobsWaitLong', [120.5], true],
    ['SluiceModelWithoutWorker', [3, 0], true],
    ['SluiceModelWithoutWorker', [3, 1], false],
    ['SluiceModelWithoutWorker', [0, 0], false],
    ['SluiceStoreDown', [0], true],
    ['SluiceStoreDown', [1], false],
  ])('holds as its rule would: %s of %j is %s', (name, values, holds) => {
    expect(alertHolds(name, ...values)).toBe(holds);
  });

  it('is not judged with too few values', () => {
    expect(() => alertHolds('SluiceModelWithoutWorker', 1)).toThrow('compares 2 values');
  });
});
