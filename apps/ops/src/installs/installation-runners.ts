import {
  ModelRegistryService,
  ModelRepository,
  noOnlineModels,
  PlacementRepository,
  PlacementService,
} from '#model-registry';
import { InstallationRepository, InstallationRunner } from '#model-registry/installations';
import { OpsConfig } from '#platform/config';
import { Injectable } from '#platform/injection';
import { Logger } from '#platform/logging';
import { launchInstaller } from './launch-installer.js';

/** Creates the runner of the installations that the Admin API orders. */
@Injectable()
export class InstallationRunners {
  constructor(
    private readonly config: OpsConfig,
    private readonly installations: InstallationRepository,
    private readonly models: ModelRepository,
    private readonly placements: PlacementRepository,
    private readonly logger: Logger,
  ) {}

  /** Returns null where SLUICE_MODEL_INSTALLS is off: the store may belong to another process, or be read-only. */
  create(): InstallationRunner | null {
    const { modelInstalls, home, importFolder } = this.config;
    const { logger } = this;
    if (!modelInstalls) return null;
    const registry = new ModelRegistryService(this.models, noOnlineModels, { cacheMs: 0 });
    const onStderr = (text: string) => logger.warn({ stderr: text }, 'the installing process complained');
    return new InstallationRunner({
      repository: this.installations,
      registry,
      placements: new PlacementService(this.placements, registry),
      launch: () => launchInstaller({ home, onStderr }),
      importFolder,
      home,
      logger,
    });
  }
}
