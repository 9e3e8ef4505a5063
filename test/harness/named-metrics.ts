import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Labels that look like metrics. */
const labels = /^gen_ai_(operation_name|provider_name|request_model|token_type)$/;

/** The folders whose files ask for our metrics: dashboards, alerts, scalers. */
const askers = ['k8s/observability', 'k8s/components/autoscaling'].filter((path) => existsSync(join(root, path)));

/** Every metric that a dashboard, an alert or a scaler asks for, with the files that do. */
export function namedMetrics(): Map<string, string[]> {
  const named = new Map<string, string[]>();
  for (const path of askers.flatMap(filesUnder)) {
    const found =
      readFileSync(join(root, path), 'utf8').match(/\b(sluice|gen_ai|nodejs|process)_[a-z0-9_]*[a-z0-9]\b/g) ?? [];
    for (const name of new Set(found)) {
      if (!labels.test(name)) named.set(name, [...(named.get(name) ?? []), path]);
    }
  }
  return named;
}

/** Names of the series that Prometheus text has or would have: histograms by their parts as well. */
export function exportedMetrics(text: string): Set<string> {
  const names = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' || type === 'summary' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
  return new Set(names);
}

function filesUnder(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return filesUnder(path);
    return /\.(ya?ml|json)$/.test(entry.name) ? [path] : [];
  });
}
