import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './render-overlay.js';

/** Files under `k8s/` with Prometheus queries: scalers, rules, dashboards. */
export function askingFiles(): string[] {
  const folder = join(root, 'k8s');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ya?ml|json)$/.test(file))
    .map((file) => join('k8s', file));
}

/** Labels that look like metrics. */
const labels = /^gen_ai_(operation_name|provider_name|request_model|token_type)$/;

/** Returns the project's and the runtime's metrics in a text, without the suffixes of histograms. */
export function metricsIn(text: string): string[] {
  // A name before a colon is a recording rule, a YAML key, or a port; none of them is a metric.
  const names = text.match(/(?<![\w:.])(sluice|gen_ai|nodejs|process)_[a-z0-9_]*[a-z0-9]\b(?!:)/g) ?? [];
  const metrics = names.filter((name) => !labels.test(name));
  return [...new Set(metrics.map((name) => name.replace(/_(bucket|sum|count)$/, '')))].sort();
}

/** Every metric queried under `k8s/`, with the files that use it. */
export function namedMetrics(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const file of askingFiles()) {
    for (const name of metricsIn(readFileSync(join(root, file), 'utf8'))) {
      found.set(name, [...(found.get(name) ?? []), file]);
    }
  }
  return found;
}
