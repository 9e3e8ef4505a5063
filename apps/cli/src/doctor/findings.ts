import { installCommand } from '#platform/process';
import type { Diagnosis } from './examine.js';

const installCuda = 'ONNXRUNTIME_NODE_INSTALL=cuda12 node node_modules/onnxruntime-node/script/install';

/** Lists the problems of this machine and their fixes, most serious first. */
export function collectFindings({ machine, runtime, providers, models }: Diagnosis): string[] {
  const findings: string[] = [];
  const isUsable = (name: string): boolean => providers.some((provider) => provider.name === name && provider.usable);
  const isWanted = (name: string): boolean => providers.some((provider) => provider.name === name);
  if (isUnusable({ providers })) findings.push(withoutProvider({ providers }));
  if (isWanted('cpu') && !isUsable('cpu'))
    findings.push(`The runtime does not compute even on the CPU: run \`${installCommand}\` again.`);
  if (isWanted('cuda') && !isUsable('cuda')) findings.push(...withoutCuda({ machine, runtime }));
  for (const { name, version } of machine.tools) {
    if (version === null)
      findings.push(
        `${name} is missing and the bundled one does not run here: audio and video are not served. Install ffmpeg.`,
      );
  }
  for (const { id, bytes } of models) {
    if (bytes > machine.memoryBytes) findings.push(`${id} is larger than the memory of this machine.`);
  }
  return findings;
}

/** True on a machine where no provider of the list works: a worker would load no model. */
export function isUnusable({ providers }: Pick<Diagnosis, 'providers'>): boolean {
  return providers.every(({ usable }) => !usable);
}

function withoutProvider({ providers }: Pick<Diagnosis, 'providers'>): string {
  const reasons = providers.map(({ name, note }) => note ?? `${name} does not work`).join('; ');
  const names = providers.map(({ name }) => name);
  const fix = names.includes('cpu') ? '' : ' Add cpu to the list to run models on the processor.';
  return `No provider of SLUICE_PROVIDERS (${names.join(',')}) works here, so no model is loaded: ${reasons}.${fix}`;
}

function withoutCuda({ machine, runtime }: Pick<Diagnosis, 'machine' | 'runtime'>): string[] {
  const { cuda } = runtime;
  if (machine.nvidia === null) {
    // Machines without a GPU get no findings about CUDA.
    return cuda?.installed ? ['The CUDA libraries are installed, but no NVIDIA driver answers (nvidia-smi).'] : [];
  }
  if (machine.nvidia.devices.length === 0) return ['The NVIDIA driver answers, but shows this process no device.'];
  if (cuda === null) return [`There are CUDA libraries for linux-x64 alone; this is ${machine.platform}.`];
  if (!cuda.installed) return [`A GPU is here, but not the runtime’s CUDA libraries: ${installCuda}`];
  const missing = (cuda.libraries ?? []).filter(({ path }) => path === null).map(({ name }) => name);
  if (missing.length > 0) return [`Missing for CUDA: ${missing.join(', ')}. CUDA 12 and cuDNN 9 bring them.`];
  return ['CUDA is installed and yet does not work: see what its provider says above.'];
}
