import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runSourceArguments, sourcePath } from './source-program.js';

/** Environment of a process that is to use a Vulkan driver. */
interface DriverEnvironment {
  VK_DRIVER_FILES: string;
}

/** The software Vulkan that Debian's `chromium` brings, which has no half floats; it needs `libvulkan1`. */
const swiftShader = '/usr/lib/chromium/vk_swiftshader_icd.json';
const loaders = ['/usr/lib/x86_64-linux-gnu/libvulkan.so.1', '/usr/lib/aarch64-linux-gnu/libvulkan.so.1'];
const driverFolder = '/usr/share/vulkan/icd.d';

let halfFloatGpu: DriverEnvironment | string | null = null;

/**
 * Finds a software Vulkan that computes in half floats, as lavapipe of Mesa 25 does: the device is asked, once per
 * process. Returns why there is none otherwise. `SLUICE_TEST_HALF_FLOAT_DRIVER` is the description of one elsewhere.
 */
export function findHalfFloatGpu(): DriverEnvironment | string {
  return (halfFloatGpu ??= askHalfFloatGpu());
}

function askHalfFloatGpu(): DriverEnvironment | string {
  const driver = process.env['SLUICE_TEST_HALF_FLOAT_DRIVER'] ?? findLavapipe();
  if (driver === undefined) return 'Mesa has no lavapipe here';
  const program = sourcePath('test/harness/half-floats.program.ts');
  const environment = { VK_DRIVER_FILES: driver };
  try {
    const env = { ...process.env, ...environment };
    execFileSync(process.execPath, [...runSourceArguments, program], { env, stdio: 'ignore', timeout: 60_000 });
    return environment;
  } catch {
    return `the device of ${driver} does not compute in half floats`;
  }
}

function findLavapipe(): string | undefined {
  const names = existsSync(driverFolder) ? readdirSync(driverFolder) : [];
  const name = names.find((file) => /^lvp_icd\b.*\.json$/.test(file));
  return name === undefined ? undefined : join(driverFolder, name);
}

/** A step of `npm run nightly` sets it: suites of devices run in half floats where they can. */
export const runsInHalfFloats = process.env['SLUICE_TEST_HALF_FLOATS'] === 'true';

function chooseSoftwareGpu(): DriverEnvironment {
  if (!runsInHalfFloats) return { VK_DRIVER_FILES: swiftShader };
  const found = findHalfFloatGpu();
  if (typeof found === 'string') throw new Error(`Half floats cannot be tested: ${found}.`);
  return found;
}

/** Environment of a process that is to run WebGPU on the processor. */
export const softwareGpu = chooseSoftwareGpu();

/** Whether WebGPU can run without a GPU on this machine. */
export const hasSoftwareGpu = existsSync(softwareGpu.VK_DRIVER_FILES) && loaders.some((path) => existsSync(path));

/** A busy machine takes minutes to compile the programs of a tiny model, and an idle one 20 s. */
export const softwareGpuTimeouts = { timeout: 300_000 };

/** Path of a library with a provider on which suites are to run too. */
export const providerLibrary = process.env['SLUICE_TEST_PROVIDER_LIBRARY'];
