import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readText, root } from './repository-files.js';

interface Bill {
  bomFormat: string;
  serialNumber: string;
  metadata: { component: { name: string; version: string }; timestamp?: string };
  components: { name: string; version: string; purl: string; licenses?: unknown[] }[];
}

interface PackageFile {
  version: string;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

const folders: string[] = [];

/** The bill of materials as text, as built by `npm run release`. */
function billOfMaterials(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bill-'));
  folders.push(folder);
  execFileSync(process.execPath, [join(root, 'scripts/release.mjs'), '--sbom', '--out', folder], { stdio: 'pipe' });
  const [name = ''] = readdirSync(folder);
  return readFileSync(join(folder, name), 'utf8');
}

describe('the bill of materials', () => {
  const packages = JSON.parse(readText('package.json')) as PackageFile;
  let text = '';
  let bill: Bill;

  beforeAll(() => {
    text = billOfMaterials();
    bill = JSON.parse(text) as Bill;
  }, 120_000);

  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  it('is CycloneDX and names its subject', () => {
    expect(bill.bomFormat).toBe('CycloneDX');
    expect(bill.metadata.component).toMatchObject({ name: 'sluice', version: packages.version });
  });

  it('contains every package that ships, with its version, and no build-only package', () => {
    const held = new Map(bill.components.map(({ purl, version }) => [decodeURIComponent(purl), version]));
    const nameOf = ([name, version]: [string, string]) => `pkg:npm/${name}@${version}`;
    const missing = Object.entries(packages.dependencies).filter((entry) => !held.has(nameOf(entry)));
    expect(missing).toEqual([]);
    const building = ['vitest', 'oxlint', 'prettier'].map((name) =>
      nameOf([name, packages.devDependencies[name] ?? '']),
    );
    expect(building.filter((name) => held.has(name))).toEqual([]);
  });

  it('is byte-identical when it is built again', () => {
    expect(billOfMaterials()).toBe(text);
  });
});
