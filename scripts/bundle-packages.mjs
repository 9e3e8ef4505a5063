/*
 * Some packages come with the npm package as bundles: viem alone has 28 MB, mostly source maps, types and chains, and
 * its code takes one. This also removes 80 packages that they depend on. Only packages that nothing else in the
 * installation imports qualify, and none that a sandbox reads (libs/documents).
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { importedSpecifiers, packageOf, replaceSpecifiers, scriptsIn, specifierOf } from './imported-packages.mjs';

export const bundledPackages = [
  '@aws-sdk/client-s3',
  '@huggingface/hub',
  '@npmcli/config',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace',
  '@prisma/adapter-pg',
  'npm-registry-fetch',
  'pacote',
  'viem',
];

const bundleFolder = 'dist/vendor/packages';
const licensesFile = `${bundleFolder}/LICENSES.txt`;
const prefix = 'bundle:';

/**
 * Bundles what the compiled code of a staged package imports of them, and makes it import the bundles. Returns the
 * paths of the new files. `external`: packages that stay dependencies.
 */
export async function bundlePackages({ root, folder, external }) {
  const scripts = scriptsIn(join(folder, 'dist'));
  const imported = scripts.flatMap((path) => importedSpecifiers(readFileSync(path, 'utf8')));
  const wanted = new Set(imported.filter((name) => bundledPackages.includes(packageOf(name))));
  if (wanted.size === 0) return [];
  const output = await bundle({ root, folder, wanted: [...wanted], external });
  for (const path of scripts) {
    replaceSpecifiers(path, (name) =>
      wanted.has(name) ? specifierOf(path, join(folder, bundleFolder, fileOf(name))) : name,
    );
  }
  writeFileSync(join(folder, licensesFile), licensesOf(output));
  return [licensesFile, ...output.map(({ fileName }) => `${bundleFolder}/${fileName}`)];
}

/** Makes one file with all exports of each module. Code that they share goes to further files. */
async function bundle({ root, folder, wanted, external }) {
  const { rolldown } = await import('rolldown');
  const stays = (name) => isBuiltin(name) || external.includes(packageOf(name));
  const bundler = await rolldown({
    cwd: root,
    input: Object.fromEntries(wanted.map((name) => [fileOf(name).replace(/\.js$/, ''), prefix + name])),
    platform: 'node',
    external: (name) => stays(name),
    resolve: { conditionNames: ['node', 'import', 'module', 'default'] },
    logLevel: 'warn',
    // Nothing that is used here reads a file beside its module; some compute such paths while they load.
    transform: { define: { __dirname: 'import.meta.dirname', __filename: 'import.meta.filename' } },
    plugins: [
      {
        name: 'all-exports',
        resolveId: (name) => (name.startsWith(prefix) ? name : null),
        load: (name) => (name.startsWith(prefix) ? exportsOf(name.slice(prefix.length)) : null),
      },
    ],
  });
  const { output } = await bundler.write({
    dir: join(folder, bundleFolder),
    format: 'esm',
    chunkFileNames: 'shared-[hash].js',
    // Names stay readable in stacks; comments and blanks go.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  });
  await bundler.close();
  const lost = output.flatMap(({ imports, dynamicImports, fileName }) =>
    [...imports, ...dynamicImports]
      .filter((name) => !isChunk(name, output) && !stays(name))
      .map((name) => `${fileName} imports ${name}, which is no dependency.`),
  );
  if (lost.length > 0) throw new Error(lost.join('\n'));
  return output;
}

function isChunk(name, output) {
  return output.some(({ fileName }) => fileName === name);
}

/** Names every export, because a bundler exports only the default of a CommonJS module. */
async function exportsOf(name) {
  const names = Object.keys(await import(name)).filter((key) => /^[\w$]+$/.test(key));
  return `export { ${names.join(', ')} } from '${name}';`;
}

function fileOf(name) {
  return `${name.replace(/^@/, '').replace(/[^\w-]+/g, '-')}.js`;
}

/** The licenses of all packages with code in the bundles; each text once, under the names of its packages. */
function licensesOf(output) {
  const folders = new Set(output.flatMap(({ moduleIds = [] }) => moduleIds.flatMap((id) => packageFolder(id) ?? [])));
  const packages = new Map();
  for (const folder of [...folders].toSorted((one, other) => (one < other ? -1 : 1))) {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? `License: ${license}` : readFileSync(join(folder, file), 'utf8').trim();
    packages.set(text, [...(packages.get(text) ?? []), `${name} ${version}`]);
  }
  return [...packages].map(([text, names]) => `${names.join('\n')}\n\n${text}\n`).join(`\n${'='.repeat(80)}\n\n`);
}

/** The folder with the package.json that names the package of a module; null for what is none. */
function packageFolder(id) {
  const [, folder] = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(id.replace(/^\0/, '')) ?? [];
  return folder !== undefined && existsSync(join(folder, 'package.json')) ? folder : null;
}
