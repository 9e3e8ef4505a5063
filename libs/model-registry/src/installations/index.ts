export { DeleteOldInstallationsSweep, installationDays } from './delete-old-installations.sweep.js';
export {
  type Installation,
  type InstallationOptions,
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
export { InstallationRunner, type InstallationRunnerOptions } from './installation-runner.js';
export type {
  InstallerCommand,
  InstallerJob,
  InstallerMessage,
  InstallerProcess,
  LaunchInstaller,
} from './installer-process.js';
