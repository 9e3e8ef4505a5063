export { DeleteOldInstallationsSweep } from './delete-old-installations.sweep.js';
export {
  type Installation,
  type InstallationProgress,
  type InstallationRequest,
  type InstallationStage,
  installationStages,
  type InstallationState,
  installationStates,
  type Installer,
  isOpen,
} from './installation.js';
export { type InstallationPosition, InstallationRepository } from './installation.repository.js';
export { InstallationRunner } from './installation-runner.js';
export type { InstallerCommand, InstallerJob, InstallerMessage, InstallerProcess } from './installer-process.js';
