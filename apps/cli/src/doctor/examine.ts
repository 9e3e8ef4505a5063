import {
  findProviderDevices,
  judgeRecord,
  type ProviderDevices,
  refuseDevice,
  trialKey,
  TrialStore,
} from '#inference/trials';
import { MediaTools } from '#media';
import { type InstalledModel, listInstalledModels } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { installedBytes } from '../models/known-models.js';
import {
  type MachineReport,
  reportMachine,
  reportRuntime,
  type RuntimeReport,
  type ToolReport,
} from './machine-report.js';
import { type ProbeResult, probeProvider } from './provider-probe.js';

export interface ProviderReport extends ProbeResult {
  name: string;
  /** The device on which it would run models, as its driver names it; null: there is none, or it is not known. */
  device: string | null;
}

export interface ModelReport {
  id: string;
  /** Size of its files in bytes; a loaded model needs somewhat more. */
  bytes: number;
  /** The first provider in order of preference that works here and that its trials have not refused; null: none does. */
  provider: string | null;
  /** Findings of the trials that workers with this data folder made of the providers before it; null: none. */
  note: string | null;
}

/** Inference capabilities of a machine. */
export interface Diagnosis {
  machine: MachineReport;
  runtime: RuntimeReport;
  /** In order of preference. */
  providers: ProviderReport[];
  models: ModelReport[];
}

/** Examines this machine like a worker that starts on it. Takes seconds, because every provider runs a computation. */
export async function diagnoseMachine({ config, signal }: CliContext): Promise<Diagnosis> {
  const [machine, runtime, devices] = await Promise.all([
    reportMachine(await reportMedia()),
    reportRuntime(),
    findProviderDevices(config.providers, { libraries: config.providerLibraries }),
  ]);
  const providers: ProviderReport[] = [];
  // Sequentially: two probes on one device would distort each other.
  for (const name of new Set(config.providers)) {
    const device = devices.get(name);
    const found = device !== undefined && !('missing' in device) ? device.name : null;
    const note = whyNot(name, device, config.allowSoftwareGpu);
    const probed =
      note === null
        ? await probeProvider(name, { signal, libraries: config.providerLibraries })
        : { usable: false, note };
    providers.push({ name, device: found, ...probed });
  }
  const usable = providers.filter((provider) => provider.usable).map(({ name }) => name);
  const trials = new TrialStore(config.home, () => undefined);
  const installed = await listInstalledModels(config.home);
  const models = installed.map(async (model): Promise<ModelReport> => {
    const { provider, notes } = await recallChoice(model, { usable, devices, trials });
    const note = notes.length === 0 ? null : notes.join('; ');
    return { id: model.manifest.id, bytes: installedBytes(model), provider, note };
  });
  return { machine, runtime, providers, models: await Promise.all(models) };
}

/** Why a provider is not even tried here; null if it is. */
function whyNot(name: string, device: KnownDevice, allowsSoftware: boolean): string | null {
  const refusal = device === undefined ? null : refuseDevice(device, allowsSoftware);
  return refusal === null ? null : `${name} skipped: ${refusal}`;
}

/** Chooses as a worker would that has tried the model before. */
async function recallChoice(
  { manifest, folder }: InstalledModel,
  { usable, devices, trials }: { usable: readonly string[]; devices: ProviderDevices; trials: TrialStore },
): Promise<{ provider: string | null; notes: string[] }> {
  const notes: string[] = [];
  for (const provider of usable) {
    const device = devices.get(provider);
    if (device === undefined || 'missing' in device) return { provider, notes };
    const graph = { modelId: manifest.id, directory: folder, graphFile: manifest.graphFile };
    const record = await trials.read(await trialKey(graph, provider, device));
    const judged = record === null ? { note: 'not tried yet' } : judgeRecord(record, { device, providers: usable });
    if (!('skipped' in judged)) {
      return { provider, notes: judged.note === null ? notes : [...notes, `${provider}: ${judged.note}`] };
    }
    notes.push(`${provider} skipped: ${judged.skipped}`);
  }
  return { provider: null, notes };
}

type KnownDevice = ReturnType<ProviderDevices['get']>;

/** What reads and writes audio and video here. */
async function reportMedia(): Promise<ToolReport[]> {
  const { description } = await MediaTools.find();
  return [{ name: 'ffmpeg', version: description }];
}
