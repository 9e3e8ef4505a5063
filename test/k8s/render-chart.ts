import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Manifest } from './manifest.js';
import { parseManifests, root } from './render-overlay.js';

/** `npm test -- k8s` sets the command of Helm; default: the one on the PATH. */
const helm = process.env.SLUICE_TEST_HELM ?? 'helm';
export const chart = join(root, 'k8s', 'chart');

/** Arguments that name files of `k8s/chart/ci`. */
function valuesOf(files: readonly string[]): string[] {
  return files.flatMap((file) => ['--values', join(chart, 'ci', `${file}-values.yaml`)]);
}

function run(args: string[]): string {
  return execFileSync(helm, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'pipe'] });
}

export interface RenderOptions {
  /** As of `--set`. */
  set?: readonly string[];
  namespace?: string;
}

/** The objects of the chart, as `helm install` would send them. Throws what Helm prints for wrong values. */
export function renderChart(
  files: readonly string[] = [],
  { set = [], namespace = 'sluice' }: RenderOptions = {},
): Manifest[] {
  const settings = set.flatMap((value) => ['--set', value]);
  return parseManifests(run(['template', 'sluice', chart, '--namespace', namespace, ...valuesOf(files), ...settings]));
}

/** Output of `helm lint --strict`; throws if it finds anything. */
export function lintChart(files: readonly string[] = []): string {
  return run(['lint', '--strict', chart, ...valuesOf(files)]);
}
