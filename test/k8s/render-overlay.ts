import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import type { Manifest } from './manifest.js';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const folder = join(root, 'k8s', 'overlays');

/** Names of all overlays. */
export const overlays = readdirSync(folder).sort();

/** `npm test -- k8s` sets the kustomize command; default: the one on the PATH. */
const [command = 'kubectl', ...words] = (process.env.SLUICE_TEST_KUSTOMIZE ?? 'kubectl kustomize').split(' ');

/** The objects of an overlay, as `kubectl apply -k` would send them. */
export function renderOverlay(name: string): Manifest[] {
  return render(join(folder, name));
}

/** The same with one more component. */
export function renderWith(name: string, component: string): Manifest[] {
  const copy = mkdtempSync(join(tmpdir(), 'sluice-overlay-'));
  try {
    const place = (...parts: string[]) => relative(realpathSync(copy), join(root, 'k8s', ...parts));
    const lines = [
      'resources:',
      `  - ${place('overlays', name)}`,
      'components:',
      `  - ${place('components', component)}`,
    ];
    writeFileSync(join(copy, 'kustomization.yaml'), `${lines.join('\n')}\n`);
    return render(copy);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

/** The objects of a folder below `k8s/` that is no overlay. */
export function renderFolder(name: string): Manifest[] {
  return render(join(root, 'k8s', name));
}

/** An overlay whose copy names another namespace. */
export function renderInNamespace(name: string, namespace: string): Manifest[] {
  const copy = mkdtempSync(join(tmpdir(), 'sluice-overlay-'));
  try {
    const place = (path: string) => relative(realpathSync(copy), join(folder, name, path));
    const file = readFileSync(join(folder, name, 'kustomization.yaml'), 'utf8');
    cpSync(join(folder, name), copy, { recursive: true });
    const text = file.replaceAll(/(?<=^ +- )\.\.\/.*$/gm, (path) => place(path));
    writeFileSync(join(copy, 'kustomization.yaml'), `namespace: ${namespace}\n${text}`);
    return render(copy);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

function render(path: string): Manifest[] {
  const text = execFileSync(command, [...words, path], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  return parseManifests(text);
}

export function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null)
    .map(unbroken);
}

/** Long secrets are rendered in several lines, which a server accepts and the schema's pattern does not. */
function unbroken(manifest: Manifest): Manifest {
  if (manifest.kind !== 'Secret') return manifest;
  const data = Object.entries(manifest.data ?? {}).map(([key, value]) => [key, value.replaceAll('\n', '')]);
  return { ...manifest, data: Object.fromEntries(data) };
}
