#!/usr/bin/env node
// `npm run release [-- --out folder]`: builds what is released beside the images: the npm package, the bill of materials
// (CycloneDX, reproducible from the lockfile), the sources, and their checksums. Checks the registry for known
// vulnerabilities first. `--sbom` only builds the bill of materials.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readCommandLine } from './command-line.mjs';
import { lockedName } from './locked-name.mjs';
import { npmCommand, root } from './steps.mjs';

const about = `npm run release [-- options]\n
Builds the npm package, the bill of materials, the sources and their checksums, after a check for known vulnerabilities.`;
const { values } = readCommandLine(about, {
  out: { value: 'DIR', about: 'where they are written', default: join(root, 'dist/release') },
  sbom: { about: 'only the bill of materials' },
  tag: { value: 'TAG', about: 'refuses to release another version than that of this tag, such as v0.1.0' },
});
const out = resolve(values.out);
const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

if (values.tag !== null && values.tag !== `v${version}`) {
  console.error(`The tag ${values.tag} is not v${version}, the version in package.json.`);
  process.exit(1);
}
mkdirSync(out, { recursive: true });
const bill = `${name}-${version}.cdx.json`;
writeFileSync(join(out, bill), billOfMaterials());
if (!values.sbom) {
  checkAdvisories();
  const archive = `${name}-${version}.tar.gz`;
  const prefix = `--prefix=${name}-${version}/`;
  execFileSync('git', ['-C', root, 'archive', '--format=tar.gz', prefix, '-o', join(out, archive), 'HEAD']);
  const packed = spawnSync(process.execPath, [join(root, 'scripts/package.mjs'), '--out', out], { stdio: 'inherit' });
  if (packed.status !== 0) process.exit(1);
  const lines = [archive, `${name}-${version}.tgz`, bill].map(
    (file) => `${sha256(readFileSync(join(out, file)))}  ${file}\n`,
  );
  writeFileSync(join(out, 'SHA256SUMS'), lines.join(''));
}
// A workflow of GitHub gives it to the step that signs it.
if (process.env.GITHUB_OUTPUT) appendFileSync(process.env.GITHUB_OUTPUT, `bill=${join(out, bill)}\n`);
console.log(`Written to ${out}.`);

function billOfMaterials() {
  const text = run(['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']);
  const made = JSON.parse(text);
  const { component: ours, lifecycles } = made.metadata;
  // Omits time, machine and folder, so that two builds of the same version are identical.
  const component = { ...ours, name };
  // Filtered here: npm's `--omit dev` drops packages that both ship and are needed for building.
  const ships = shippedPackages();
  const components = made.components.filter((one) => ships.has(`${one.name}@${one.version}`));
  const known = new Set([component['bom-ref'], ...components.map((one) => one['bom-ref'])]);
  const dependencies = made.dependencies
    .filter(({ ref }) => known.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => known.has(one)) }));
  const content = { ...made, metadata: { lifecycles, component }, components, dependencies };
  delete content.serialNumber;
  const hex = sha256(JSON.stringify(content));
  const id = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)];
  return `${JSON.stringify({ ...content, serialNumber: `urn:uuid:${id.join('-')}` }, null, 2)}\n`;
}

/** `name@version` of every package of an installation without development packages. */
function shippedPackages() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const shipped = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  return new Set(shipped.map(([path, one]) => `${lockedName(path, one)}@${one.version}`));
}

/** Not every registry supports audits; the release output then says so. */
function checkAdvisories() {
  const [command, ...args] = [...npmCommand, 'audit', '--omit=dev', '--audit-level=high', '--json'];
  const { stdout } = spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const report = JSON.parse(stdout || '{}');
  const found = report.metadata?.vulnerabilities;
  if (found === undefined) {
    console.warn('The registry does not support npm audit: known vulnerabilities were not checked.');
  } else if (found.high + found.critical > 0) {
    console.error(`npm audit finds ${found.high} high and ${found.critical} critical: see \`npm audit --omit=dev\`.`);
    process.exit(1);
  }
}

function run(args) {
  const [command, ...first] = npmCommand;
  return execFileSync(command, [...first, ...args], { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
}

function sha256(content) {
  return createHash('sha256').update(content).digest('hex');
}
