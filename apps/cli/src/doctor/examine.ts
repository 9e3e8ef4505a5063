import { MediaTools } from '#media';
import { listInstalledModels } from '#model-store';
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
}

export interface ModelReport {
  id: string;
  /** Size of its files in bytes; a loaded model needs somewhat more. */
  bytes: number;
  /** The first provider in order of preference that works on this machine; null if none does. */
  provider: string | null;
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
  const [machine, runtime] = await Promise.all([reportMachine(await reportMedia()), reportRuntime()]);
  const providers: ProviderReport[] = [];
  // Sequentially: two probes on one device would distort each other.
  for (const name of new Set(config.providers)) {
    providers.push({ name, ...(await probeProvider(name, signal)) });
  }
  const provider = providers.find(({ usable }) => usable)?.name ?? null;
  const installed = await listInstalledModels(config.home);
  const models = installed.map((model) => ({ id: model.manifest.id, bytes: installedBytes(model), provider }));
  return { machine, runtime, providers, models };
}

/** What reads and writes audio and video here. */
async function reportMedia(): Promise<ToolReport[]> {
  const { description } = await MediaTools.find();
  return [{ name: 'ffmpeg', version: description }];
}
