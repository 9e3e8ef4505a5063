import { ModelRegistryService, noOnlineModels, PlacementRepository, PlacementService } from '#model-registry';
import { InstallationRepository, InstallationRunner } from '#model-registry/installations';
import type { OpsConfig } from '#platform/config';
import type { Logger } from '#platform/logging';
import type { PrismaService } from '#platform/prisma';
import { launchInstaller } from './launch-installer.js';

/** Null where SLUICE_MODEL_INSTALLS is off: the store may belong to another process, or be read-only. */
export function createInstallationRunner(
  { modelInstalls, home, importFolder }: OpsConfig,
  prisma: PrismaService,
  logger: Logger,
): InstallationRunner | null {
  if (!modelInstalls) return null;
  const registry = new ModelRegistryService(prisma, noOnlineModels, { cacheMs: 0 });
  return new InstallationRunner({
    repository: new InstallationRepository(prisma),
    registry,
    placements: new PlacementService(new PlacementRepository(prisma), registry),
    launch: () =>
      launchInstaller({ home, onStderr: (text) => logger.warn({ stderr: text }, 'the installing process complained') }),
    importFolder,
    home,
    logger,
  });
}
