import { listInstalledModels } from '#model-store';
import type { CliContext } from '../cli-context.js';
import { installedBytes } from '../models/known-models.js';
import { type MachineReport, reportMachine, reportRuntime, type RuntimeReport } from './machine-report.js';
import { type ProbeAnswer, probeProvider } from './provider-probe.js';

export interface ProviderReport extends ProbeAnswer {
  name: string;
}

export interface ModelReport {
  id: string;
  /** Of its files; loaded it takes somewhat more. */
  bytes: number;
  /** The first provider in order of preference that works here; null where none does. */
  provider: string | null;
}

/** What a machine offers to models. */
export interface Diagnosis {
  machine: MachineReport;
  runtime: RuntimeReport;
  /** In order of preference. */
  providers: ProviderReport[];
  models: ModelReport[];
}

/** Looks at this machine as a worker would that is started here. Takes seconds: every provider computes something. */
export async function examine({ config, signal }: CliContext): Promise<Diagnosis> {
  const [machine, runtime] = await Promise.all([reportMachine(['ffmpeg', 'ffprobe']), reportRuntime()]);
  const providers: ProviderReport[] = [];
  // One after another: two that take a device at once would tell of each other.
  for (const name of new Set([...config.providers, 'cpu'])) {
    providers.push({ name, ...(await probeProvider(name, signal)) });
  }
  const provider = providers.find(({ usable }) => usable)?.name ?? null;
  const installed = await listInstalledModels(config.home);
  const models = installed.map((model) => ({ id: model.manifest.id, bytes: installedBytes(model), provider }));
  return { machine, runtime, providers, models };
}
