import { existsSync } from 'node:fs';

/** The software Vulkan that Debian's `chromium` brings; it needs `libvulkan1`. */
const driver = '/usr/lib/chromium/vk_swiftshader_icd.json';
const loaders = ['/usr/lib/x86_64-linux-gnu/libvulkan.so.1', '/usr/lib/aarch64-linux-gnu/libvulkan.so.1'];

/** Whether WebGPU can run without a GPU on this machine. */
export const hasSoftwareGpu = existsSync(driver) && loaders.some((path) => existsSync(path));

/** Environment of a process that is to use it. */
export const softwareGpu = { VK_DRIVER_FILES: driver };

/** A busy machine takes minutes to compile the programs of a tiny model, and an idle one 20 s. */
export const softwareGpuTimeouts = { timeout: 300_000 };

/** Path of a library with a provider on which suites are to run too. */
export const providerLibrary = process.env['SLUICE_TEST_PROVIDER_LIBRARY'];
