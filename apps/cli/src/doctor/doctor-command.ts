import type { Command } from 'commander';
import { PlatformError } from '#common';
import { formatBytes } from '#model-store';
import { outdatedNode } from '#platform/devices';
import type { CliContext } from '../cli-context.js';
import type { Diagnosis } from './examine.js';
import type { MachineReport, RuntimeReport } from './machine-report.js';
import type { WeightRows } from './provider-probe.js';

/** `sluice doctor` */
export function addDoctorCommand(program: Command, context: CliContext): void {
  program
    .command('doctor')
    .description(
      'show the devices, providers and libraries of this machine and what each model would use, examine the stores, or check the settings of payments',
    )
    .option(
      '--stores',
      'examine PostgreSQL, Redis, the media storage, clocks and keys instead; exits with 1 on a problem',
    )
    .option('--payments', 'check the settings of payments against their chains instead; exits with 1 on a problem')
    .option('--json', 'print one JSON document to stdout')
    .action(async ({ stores, payments, json }: { stores?: boolean; payments?: boolean; json?: boolean }) => {
      if (payments) {
        const { doctorPayments } = await import('./payments-report.js');
        return await doctorPayments(context, { json });
      }
      if (!stores) return await doctor(context, { json });
      const { doctorStores } = await import('./stores-report.js');
      await doctorStores(context, { json });
    });
}

/** Rejects on a machine where a worker would load no model. */
async function doctor(context: CliContext, { json }: { json?: boolean }): Promise<void> {
  const [{ diagnoseMachine }, { collectFindings, isUnusable }] = await Promise.all([
    import('./examine.js'),
    import('./findings.js'),
  ]);
  const diagnosis = await diagnoseMachine(context);
  const findings = collectFindings(diagnosis);
  if (json) context.output.json({ ...diagnosis, findings });
  else print(context, diagnosis, findings);
  if (isUnusable(diagnosis)) throw new PlatformError('SERVICE_UNAVAILABLE', 'A worker on this machine loads no model.');
}

function print({ output }: CliContext, { machine, runtime, providers, models }: Diagnosis, findings: string[]): void {
  output.table(['MACHINE', ''], [...machineRows(machine), ...runtimeRows(runtime)]);
  output.line();
  const answers = providers.map(({ name, device, usable, note }) => {
    return [name, device ?? '–', usable ? 'works' : 'not used', note ?? ''];
  });
  output.table(['PROVIDER', 'DEVICE', 'HERE', 'WHY'], answers);
  output.line();
  const rows = providers.flatMap(({ sameRows = [] }) => sameRows.map(weightRow));
  if (rows.length > 0) {
    output.table(['WEIGHTS', 'A TEXT ALONE AND IN A BATCH', ''], rows);
    output.line();
  }
  const sizes = models.map(({ id, bytes, provider, note }) => {
    return [id, formatBytes(bytes), provider ?? 'nothing works', note ?? ''];
  });
  if (models.length > 0) output.table(['MODEL', 'FILES', 'WOULD USE', 'WHY'], sizes);
  else output.line('No model is installed.');
  output.line();
  for (const finding of findings) output.line(`! ${finding}`);
  if (findings.length === 0) output.line('No problems found.');
}

function machineRows({ platform, node, cpu, cores, memoryBytes, nvidia, tools }: MachineReport): string[][] {
  const outdated = outdatedNode(node, new Date());
  const devices = (nvidia?.devices ?? []).map(({ name, totalBytes, usedBytes, slices }) => [
    'GPU',
    `${name}, ${bytesText(usedBytes)} of ${bytesText(totalBytes)} taken${slicesText(slices)}`,
  ]);
  return [
    ['system', `${platform}, Node ${node}`],
    ...(outdated === null ? [] : [['', outdated]]),
    ['processor', `${cpu}, ${cores} cores`],
    ['memory', formatBytes(memoryBytes)],
    ...devices,
    ['driver', nvidia ? `NVIDIA ${nvidia.driverVersion}, CUDA up to ${nvidia.cudaVersion ?? '?'}` : 'no NVIDIA driver'],
    ...tools.map(({ name, version }) => [name, version ?? 'missing']),
  ];
}

function runtimeRows({ version, cuda }: RuntimeReport): string[][] {
  const rows = [['onnxruntime', version]];
  if (cuda !== null) rows.push(['its CUDA libraries', cuda.installed ? 'installed' : 'not installed']);
  for (const { name, path } of cuda?.libraries ?? []) {
    // System devices always exist and are left out.
    if (/^lib(cu|nv)/.test(name)) rows.push([name, path ?? 'missing']);
  }
  return rows;
}

function weightRow({ bits, blockSize, same }: WeightRows): string[] {
  const weights = `${bits} bits in blocks of ${blockSize}`;
  return [
    weights,
    same ? 'the same' : 'can differ',
    same ? '' : 'a near tie can resolve differently on this processor',
  ];
}

function bytesText(bytes: number | null): string {
  return bytes === null ? 'unknown' : formatBytes(bytes);
}

function slicesText(slices: readonly (number | null)[]): string {
  return slices.length === 0 ? '' : `; partitioned into ${slices.map(bytesText).join(', ')}`;
}
