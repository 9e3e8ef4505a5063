#!/usr/bin/env node
// `npm run package [-- --out folder]`: builds everything from nothing and packs the npm package, `sluice-x.y.z.tgz`. Whoever
// installs it needs neither a compiler nor Prisma.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from './build.mjs';
import { readCommandLine } from './command-line.mjs';
import { maxTarballBytes, offencesOf } from './package-contents.mjs';
import { stagePackage, undeclaredImports } from './package-staging.mjs';
import { npmCommand, root } from './steps.mjs';

const about = `npm run package [-- options]\n
Builds everything from nothing, checks what the package contains, and packs it.`;
const { values } = readCommandLine(about, {
  out: { value: 'DIR', about: 'where the tarball is written', default: join(root, 'dist/package') },
});
const out = resolve(values.out);

function fail(message) {
  console.error(message);
  process.exit(1);
}

// Files of sources that were renamed or deleted must not be packed.
for (const name of ['apps', 'libs', 'console', '.built', '.console-built'])
  rmSync(join(root, 'dist', name), { recursive: true, force: true });
try {
  build();
} catch (error) {
  fail(error instanceof Error ? error.message : String(error));
}
mkdirSync(out, { recursive: true });
/** Packs a folder, or only lists what a tarball of it would contain. */
function npmPack(folder, ...options) {
  const [command, ...words] = [...npmCommand, 'pack', '--json', '--ignore-scripts', ...options];
  const json = execFileSync(command, words, { cwd: folder, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const parsed = JSON.parse(json);
  // npm 11 writes a list, later versions an object by name.
  const [tarball] = Array.isArray(parsed) ? parsed : Object.values(parsed);
  return { ...tarball, files: tarball.files.map(({ path }) => path) };
}

const staging = join(root, 'dist', 'staging');
const { files } = npmPack(root, '--dry-run');
const expected = await stagePackage({ root, files, folder: staging });
const tarball = npmPack(staging, '--pack-destination', out);
const offences = [...offencesOf(tarball.files), ...undeclaredImports(staging)];
const packed = new Set(tarball.files);
offences.push(...expected.filter((path) => !packed.has(path)).map((path) => `${path} was not packed.`));
if (tarball.size > maxTarballBytes)
  offences.push(`The tarball has ${tarball.size} bytes, more than ${maxTarballBytes}.`);
if (offences.length > 0) fail(offences.join('\n'));
rmSync(staging, { recursive: true });
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
console.log(
  `${join(out, tarball.filename)}: ${tarball.files.length} files, ${megabytes(tarball.size)}, ` +
    `${megabytes(tarball.unpackedSize)} unpacked.`,
);
