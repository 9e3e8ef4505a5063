// node docker/install-cuda-libraries.mjs nuget|folder: installs the CUDA libraries of onnxruntime-node, or fails.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const runtime = join(root, 'node_modules', 'onnxruntime-node');
const binaries = join(runtime, 'bin', 'napi-v6', 'linux', 'x64');
const needed = ['libonnxruntime_providers_shared.so', 'libonnxruntime_providers_cuda.so'];

const source = process.argv[2];
if (source === 'nuget') {
  execFileSync(process.execPath, [join(runtime, 'script', 'install')], {
    stdio: 'inherit',
    env: { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'cuda12' },
  });
  // The third file of the package belongs to a provider that is not used.
  rmSync(join(binaries, 'libonnxruntime_providers_tensorrt.so'), { force: true });
} else if (source === 'folder') {
  const folder = join(root, 'docker', 'cuda-libraries');
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.so')))
    copyFileSync(join(folder, name), join(binaries, name));
} else {
  console.error(`CUDA_LIBRARIES is ${JSON.stringify(source)}; expected nuget or folder.`);
  process.exit(1);
}

const missing = needed.filter((name) => !existsSync(join(binaries, name)));
if (missing.length > 0) {
  console.error(`${missing.join(' and ')} did not come from ${source}: this image would run on CPUs only.`);
  process.exit(1);
}
