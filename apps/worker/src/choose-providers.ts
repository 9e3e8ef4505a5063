import type { HostLauncher } from '#inference/host';
import {
  choosingLauncher,
  findProviderDevices,
  ProviderChooser,
  type ProviderDevices,
  softwareNote,
  TrialStore,
  withoutAbsent,
} from '#inference/trials';
import { defaultProviders, type WorkerConfig } from '#platform/config';
import type { Logger } from '#platform/logging';

export interface ChosenProviders {
  launch: HostLauncher;
  /** Providers that models are loaded on, in order of preference. */
  providers: Promise<string[]>;
}

/**
 * Returns a launcher of hosts that load each model on the provider that is right and the fastest for it here. Rejects
 * for a library that cannot be used.
 */
export async function chooseProviders(
  launch: HostLauncher,
  { config, logger, findDevices = findProviderDevices }: ChooseOptions,
): Promise<ChosenProviders> {
  const { providerLibraries: libraries, allowSoftwareGpu: allowsSoftware } = config;
  // Found while the worker starts, unless a library may be wrong.
  const devices = findDevices(config.providers, { libraries });
  if (libraries.length > 0) await devices;
  const chooser = new ProviderChooser({
    ...{ launch, devices, allowsSoftware },
    trials: new TrialStore(config.home, (message, error) => logger.warn({ error }, message)),
    log: (message) => logger.info(message),
  });
  const providers = devices.then((found) => {
    const isDefault = config.providers.join() === defaultProviders.join();
    const usable = isDefault ? withoutAbsent(config.providers, found, { allowsSoftware }) : config.providers;
    // A machine without a GPU is none that lacks something.
    if (usable.join() === 'cpu') logger.info(`models run on the processor: ${whyNone(found)}`);
    else reportDevices(found, config, logger);
    return usable;
  });
  return { launch: choosingLauncher(launch, chooser), providers };
}

function whyNone(devices: ProviderDevices): string {
  const reasons = [...devices].map(([provider, device]) => {
    return `${provider}: ${'missing' in device ? device.missing : softwareNote(device)}`;
  });
  return reasons.length === 0 ? 'no other provider is listed' : reasons.join('; ');
}

interface ChooseOptions {
  config: ProviderSettings;
  logger: Logger;
  /** Default: those of this machine. */
  findDevices?: typeof findProviderDevices;
}

type ProviderSettings = Pick<WorkerConfig, 'home' | 'providers' | 'providerLibraries' | 'allowSoftwareGpu'>;

function reportDevices(
  devices: ProviderDevices,
  { allowSoftwareGpu }: Pick<WorkerConfig, 'allowSoftwareGpu'>,
  logger: Logger,
): void {
  for (const [provider, device] of devices) {
    if ('missing' in device) logger.info({ provider }, `${provider} is not used: ${device.missing}`);
    else if (!device.isSoftware) logger.info({ provider, ...device }, `${provider} has the device ${device.name}`);
    else if (!allowSoftwareGpu)
      logger.info({ provider, ...device }, `${provider} is not used: ${softwareNote(device)}`);
    else {
      const message = `${provider} has a device that computes on the processor (${device.name}); SLUICE_ALLOW_SOFTWARE_GPU allows it`;
      logger.warn({ provider, ...device }, message);
    }
  }
}
