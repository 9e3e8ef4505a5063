/*
 * The tarball differs from the tree of a clone, for the size of an installation:
 *
 * - `@prisma/client` has 75 MB, mostly query compilers of databases that Sluice does not use. The files that the
 *   generated client loads come with the package instead, in `dist/vendor/prisma-client`.
 * - Some packages come as bundles of what is used of them (bundle-packages.mjs).
 * - `package.json` names what an installation needs, without the scripts, tools and overrides of a clone.
 * - `npm-shrinkwrap.json` pins the packages below the dependencies to the versions of the lockfile, which were tested,
 *   where the package comes from a registry.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundledPackages, bundlePackages } from './bundle-packages.mjs';
import { importedSpecifiers, packageOf, replaceSpecifiers, scriptsIn, specifierOf } from './imported-packages.mjs';
import { npmCommand } from './steps.mjs';
import { defaultRegistry, withTarballUrls } from './tarball-urls.mjs';

const shrinkwrapFile = 'npm-shrinkwrap.json';
const clientFolder = 'dist/vendor/prisma-client';
const base64Suffix = '.wasm-base64.mjs';
const clientRuntime = '@prisma/client/runtime/';
/** Members of package.json that only a clone needs. */
const ofClones = new Set(['scripts', 'devDependencies', 'workspaces', 'overrides', 'allowScripts']);
/** Part of the package itself. */
const comesAlong = new Set(['@prisma/client', ...bundledPackages]);

/**
 * Copies the files of a package from `root` to an empty `folder`, with what the tarball has instead of dependencies.
 * Returns the paths of all files.
 */
export async function stagePackage({ root, files, folder }) {
  rmSync(folder, { recursive: true, force: true });
  for (const path of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(root, path), join(folder, path));
  }
  const client = await copyPrismaClient(root, folder);
  const dependencies = writePackageJson(root, folder);
  writeShrinkwrap(root, folder);
  const bundles = await bundlePackages({ root, folder, external: Object.keys(dependencies) });
  return [...files, shrinkwrapFile, ...client, ...bundles];
}

/** Makes the compiled code load the runtime of Prisma from the package; returns the paths of the new files. */
async function copyPrismaClient(root, folder) {
  const source = join(root, 'node_modules', '@prisma', 'client');
  const wanted = new Set();
  for (const path of scriptsIn(join(folder, 'dist'))) {
    replaceSpecifiers(path, (name) => {
      if (!name.startsWith(clientRuntime)) return name;
      // Node would load CommonJS, which a package of modules cannot name `.js`.
      const file = `${name.slice(clientRuntime.length).replace(/\.mjs$/, '')}.mjs`;
      wanted.add(file);
      return specifierOf(path, join(folder, clientFolder, file));
    });
  }
  mkdirSync(join(folder, clientFolder), { recursive: true });
  for (const file of [...wanted]) {
    if (file.endsWith(base64Suffix))
      wanted.add(await unpackBase64(join(source, 'runtime'), file, join(folder, clientFolder)));
    else cpSync(join(source, 'runtime', file), join(folder, clientFolder, file));
  }
  cpSync(join(source, 'LICENSE'), join(folder, clientFolder, 'LICENSE'));
  return ['LICENSE', ...wanted].map((file) => `${clientFolder}/${file}`);
}

/** Writes a module that exports WebAssembly as text, with the bytes in a file: text compresses a third worse. */
async function unpackBase64(source, file, target) {
  const { wasm } = await import(pathToFileURL(join(source, file)).href);
  const binary = file.replace(base64Suffix, '.wasm');
  writeFileSync(join(target, binary), Buffer.from(wasm, 'base64'));
  const text = [
    "import { readFileSync } from 'node:fs';",
    `export const wasm = readFileSync(new URL('./${binary}', import.meta.url), 'base64');`,
  ];
  writeFileSync(join(target, file), `${text.join('\n')}\n`);
  return binary;
}

/** Returns the dependencies of the package. */
function writePackageJson(root, folder) {
  const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));
  const { imports, dependencies, ...manifest } = read('package.json');
  const ofRuntime = read('node_modules/@prisma/client/package.json').dependencies;
  const needed = Object.entries({ ...dependencies, ...ofRuntime }).filter(([name]) => !comesAlong.has(name));
  const built = Object.entries(imports).filter(([name]) => !name.startsWith('#test/'));
  const members = {
    ...Object.fromEntries(Object.entries(manifest).filter(([name]) => !ofClones.has(name))),
    imports: Object.fromEntries(built.map(([name, target]) => [name, target.default])),
    dependencies: Object.fromEntries(needed.toSorted(([one], [other]) => (one < other ? -1 : 1))),
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(members, null, 2)}\n`);
  return { ...members.dependencies, ...members.optionalDependencies };
}

/**
 * Writes the part of the lockfile that an installation of the staged package needs. npm makes it, without a network: all it
 * needs is in the lockfile. Addresses are those of npm's own registry, whose host npm replaces by the user's.
 */
function writeShrinkwrap(root, folder) {
  const path = join(folder, 'package.json');
  const staged = readFileSync(path, 'utf8');
  const { overrides } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  cpSync(join(root, 'package-lock.json'), join(folder, 'package-lock.json'));
  // Versions that the overrides chose would otherwise not fit what their dependents ask for.
  writeFileSync(path, JSON.stringify({ ...JSON.parse(staged), overrides }));
  const [command, ...words] = npmCommand;
  const options = [
    '--package-lock-only',
    '--ignore-scripts',
    '--offline',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  const withoutUrls = '--omit-lockfile-registry-resolved';
  execFileSync(command, [...words, 'install', ...options, withoutUrls], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  writeFileSync(path, staged);
  renameSync(join(folder, 'package-lock.json'), join(folder, shrinkwrapFile));
  const lockfile = JSON.parse(readFileSync(join(folder, shrinkwrapFile), 'utf8'));
  writeFileSync(join(folder, shrinkwrapFile), JSON.stringify(withTarballUrls(lockfile, defaultRegistry())));
}

/** Packages that compiled code of a staged package imports and its package.json does not name, one line each. */
export function undeclaredImports(folder) {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const declared = new Set([...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...builtinModules]);
  // Made by bundlers: the pages of the console run in browsers, and the bundles are checked where they are made.
  const bundles = ['dist/console/assets', 'dist/vendor'].map((path) => path.split('/').join(sep));
  const offences = scriptsIn(join(folder, 'dist')).flatMap((path) => {
    const place = relative(folder, path);
    if (bundles.some((bundle) => place.startsWith(bundle))) return [];
    const text = readFileSync(path, 'utf8');
    // `createRequire` would not find them either.
    const named = [...comesAlong].filter((name) => new RegExp(`['"\`]${name}[/'"\`]`).test(text));
    const packages = importedSpecifiers(text).filter((name) => !/^(\.|#|node:|data:)/.test(name));
    const missing = packages.map((name) => packageOf(name)).filter((name) => !declared.has(name));
    return [...missing, ...named].map((name) => `${place} imports ${name}, which is no dependency.`);
  });
  return [...new Set(offences)];
}
