import { stat } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { availableProcessors } from '#platform/process';
import type { HostLoadOptions } from '../contract/engine-loader.js';
import { runtimeVersion } from '../runtime/runtime-version.js';
import type { HostLauncher } from '../host/host-process.js';
import type { MissingDevice, ProviderDevice, ProviderDevices } from './provider-devices.js';
import { type Attempt, attemptOn, recordOf } from './provider-trial.js';
import type { TrialKey, TrialRecord, TrialStore } from './trial-store.js';

export interface ProviderChooserOptions {
  /** Starts the processes of trials. */
  launch: HostLauncher;
  devices: Promise<ProviderDevices>;
  /** Whether devices that compute on the processor may be chosen. Their speed then counts for nothing. */
  allowsSoftware: boolean;
  trials: TrialStore;
  log: (message: string) => void;
}

/** The providers to load a model on, and why others of the list are not among them. */
export interface ProviderChoice {
  providers: string[];
  skippedProviders: string[];
}

/** How long a device is passed over after a load that failed there, as for memory that others have now. */
const failedLoadMs = 10 * 60_000;

/**
 * Chooses the provider of a model: the first of the list whose device computes what the processor computes, and in less
 * time. Each is tried once per model, device and driver, in processes of their own, one after the other.
 */
export class ProviderChooser {
  private lastTrial: Promise<unknown> = Promise.resolve();
  /** Loads that failed on a device whose trial went well, by model and provider. */
  private readonly failedLoads = new Map<string, { reason: string; untilMs: number }>();

  constructor(private readonly options: ProviderChooserOptions) {}

  async choose(load: HostLoadOptions, signal: AbortSignal): Promise<ProviderChoice> {
    const { providers } = load;
    if (providers[0] === 'cpu') return { providers, skippedProviders: [] };
    const devices = await this.options.devices;
    const choice: ProviderChoice = { providers: [], skippedProviders: [] };
    const reference = new Reference(() => this.attempt('cpu', load, signal));
    for (const provider of new Set(providers)) {
      const device = devices.get(provider);
      if (provider === 'cpu') return { ...choice, providers: [...choice.providers, 'cpu'] };
      if (device === undefined) {
        // Nothing is known of it: the runtime says at the load why it does not work.
        choice.providers.push(provider);
        continue;
      }
      const found = await this.judge({ provider, device, load, signal, reference });
      if ('skipped' in found) choice.skippedProviders.push(`${provider} skipped: ${found.skipped}`);
      else {
        if (found.note !== null) choice.skippedProviders.push(`${provider} was not compared: ${found.note}`);
        choice.providers.push(provider);
        // A device further down is not loaded on untried: should the load fail, the next choice is that one.
        const rest = providers.slice(providers.indexOf(provider) + 1);
        if (rest[0] === 'cpu') choice.providers.push('cpu');
        return choice;
      }
    }
    return choice;
  }

  /** Notes that a model did not load on the device that was chosen, so that the next choice is another one for a while. */
  noteFailedLoad({ modelId }: HostLoadOptions, provider: string, reason: string): void {
    this.failedLoads.set(`${modelId} ${provider}`, { reason, untilMs: performance.now() + failedLoadMs });
  }

  /** Remembers a host that crashed while it was loaded, so that its provider is not used for the model again. */
  async noteCrash(load: HostLoadOptions, provider: string, how: string): Promise<void> {
    const device = (await this.options.devices).get(provider);
    if (device === undefined || 'missing' in device) return;
    const failure = `the process ended while the model was loaded (${how})`;
    await this.options.trials.write(await trialKey(load, provider, device), {
      ...aboutTrial(load, provider, device),
      ...{ failure, difference: null, uncompared: null, providerMs: null, cpuMs: null },
    });
  }

  private async judge({ provider, device, load, signal, reference }: Candidate): Promise<Judgement> {
    const { allowsSoftware, trials } = this.options;
    const failed = this.failedLoads.get(`${load.modelId} ${provider}`);
    if (failed !== undefined && failed.untilMs > performance.now()) return { skipped: failed.reason };
    if ('missing' in device) return { skipped: device.missing };
    const refusal = refuseDevice(device, allowsSoftware);
    if (refusal !== null) return { skipped: refusal };
    const key = await trialKey(load, provider, device);
    const known = await trials.read(key);
    const situation = { device, providers: load.providers };
    if (known !== null) return judgeRecord(known, situation);
    const record = await this.inTurn(async () => {
      this.options.log(`trying ${load.modelId} on ${provider} (${device.name})`);
      const attempt = await this.attempt(provider, load, signal);
      const isShort = 'failure' in attempt || attempt.measure === null;
      const found = recordOf(attempt, isShort ? attempt : await reference.attempt(), load.quantization);
      const whole = { ...aboutTrial(load, provider, device), ...found };
      const isLasting = !('failure' in attempt) || attempt.isLasting;
      if (isLasting && !signal.aborted) await trials.write(key, whole);
      return whole;
    });
    return judgeRecord(record, situation);
  }

  private async attempt(provider: string, load: HostLoadOptions, signal: AbortSignal): Promise<Attempt> {
    return await attemptOn(provider, { launch: this.options.launch, load, signal });
  }

  /** Trials run one after the other, because they would take each other's time. */
  private async inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.lastTrial.then(work);
    this.lastTrial = turn.catch(() => undefined);
    return await turn;
  }
}

interface Candidate {
  provider: string;
  device: ProviderDevice | MissingDevice;
  load: HostLoadOptions;
  signal: AbortSignal;
  reference: Reference;
}

/** Why a provider is not used, or that it is. */
type Judgement = { skipped: string } | { note: string | null };

/** The processor's attempt, which is made once for all devices. */
class Reference {
  private made: Promise<Attempt> | null = null;

  constructor(private readonly make: () => Promise<Attempt>) {}

  async attempt(): Promise<Attempt> {
    return await (this.made ??= this.make());
  }
}

/** Why a device is not even tried; null if it is. */
export function refuseDevice(device: ProviderDevice | MissingDevice, allowsSoftware: boolean): string | null {
  if ('missing' in device) return device.missing;
  return device.isSoftware && !allowsSoftware ? softwareNote(device) : null;
}

/**
 * Returns whether the provider is used, by what its trial has shown. Its speed counts where the processor is another
 * choice.
 */
export function judgeRecord(
  record: TrialRecord,
  { device, providers }: { device: ProviderDevice; providers: readonly string[] },
): Judgement {
  const speedCounts = providers.includes('cpu') && !device.isSoftware;
  const { failure, difference, uncompared, providerMs, cpuMs } = record;
  if (failure !== null) return { skipped: failure };
  if (difference !== null) return { skipped: `it does not compute what the processor does: ${difference}` };
  if (speedCounts && providerMs !== null && cpuMs !== null && providerMs >= cpuMs) {
    return { skipped: `its trial took ${providerMs.toFixed(1)} ms, that of the processor ${cpuMs.toFixed(1)} ms` };
  }
  return { note: uncompared };
}

/** Why a software device is not used. */
export function softwareNote({ name }: ProviderDevice): string {
  return `its only device computes on the processor (${name}), which SLUICE_ALLOW_SOFTWARE_GPU would allow`;
}

function aboutTrial({ modelId }: HostLoadOptions, provider: string, { name, driver }: ProviderDevice) {
  return { modelId, provider, device: name, driver };
}

/** Counts the ways in which graphs have been made for a device: another one is tried anew. */
const graphsForDevices = '2';

/** Returns what a trial depends on: a model, a device, the runtime, and the processor that it is compared with. */
export async function trialKey(
  { modelId, directory, graphFile }: Pick<HostLoadOptions, 'modelId' | 'directory' | 'graphFile'>,
  provider: string,
  { name, driver }: ProviderDevice,
): Promise<TrialKey> {
  const graph = await stat(join(directory, graphFile)).catch(() => null);
  return {
    modelId,
    graph: graph === null ? '' : `${graph.size} bytes of ${graph.mtimeMs}`,
    ...{ provider, device: name, driver, runtime: runtimeVersion, graphs: graphsForDevices },
    processor: `${cpus()[0]?.model ?? ''} × ${availableProcessors()}`,
  };
}
