import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './render-overlay.js';

/** Files under `k8s/` that ask Prometheus for something: scalers, rules, dashboards. */
export function askingFiles(): string[] {
  const folder = join(root, 'k8s');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ya?ml|json)$/.test(file))
    .map((file) => join('k8s', file));
}

/** Labels that look like metrics. */
const labels = /^gen_ai_(operation_name|provider_name|request_model|token_type)$/;

/** The metrics of ours and of the runtime that a text names, without the suffixes of histograms. */
export function metricsIn(text: string): string[] {
  // A name before a colon is a rule that records, a key of YAML, or a port; none of them is a metric.
  const names = text.match(/(?<![\w:.])(sluice|gen_ai|nodejs|process)_[a-z0-9_]*[a-z0-9]\b(?!:)/g) ?? [];
  const metrics = names.filter((name) => !labels.test(name));
  return [...new Set(metrics.map((name) => name.replace(/_(bucket|sum|count)$/, '')))].sort();
}

/** Every metric that something under `k8s/` asks for, with the files that do. */
export function namedMetrics(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const file of askingFiles()) {
    for (const name of metricsIn(readFileSync(join(root, file), 'utf8'))) {
      found.set(name, [...(found.get(name) ?? []), file]);
    }
  }
  return found;
}
