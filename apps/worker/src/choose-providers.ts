import type { HostLauncher } from '#inference/host';
import {
  choosingLauncher,
  findProviderDevices,
  ProviderChooser,
  type ProviderDevices,
  softwareNote,
  TrialStore,
} from '#inference/trials';
import type { WorkerConfig } from '#platform/config';
import type { Logger } from '#platform/logging';

/**
 * Returns a launcher of hosts that load each model on the provider that is right and the fastest for it here. Rejects
 * for a library that cannot be used.
 */
export async function chooseProviders(
  launch: HostLauncher,
  { config, logger }: { config: ProviderSettings; logger: Logger },
): Promise<HostLauncher> {
  const { providerLibraries: libraries } = config;
  // Found while the worker starts, unless a library may be wrong.
  const devices = findProviderDevices(config.providers, { libraries });
  if (libraries.length > 0) await devices;
  void devices.then((found) => reportDevices(found, config, logger));
  const chooser = new ProviderChooser({
    ...{ launch, devices },
    allowsSoftware: config.allowSoftwareGpu,
    trials: new TrialStore(config.home, (message, error) => logger.warn({ error }, message)),
    log: (message) => logger.info(message),
  });
  return choosingLauncher(launch, chooser);
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
