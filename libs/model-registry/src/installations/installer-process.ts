import type { ErrorCode } from '#common';
import type { ModelManifest } from '../manifest/index.js';
import type { InstallationOptions, InstallationProgress } from './installation.js';

/** The job of the process that installs a model. It has no database. */
export interface InstallerJob {
  reference: string;
  options: InstallationOptions;
  /** The manifest of the registry, if the reference is the id of a registered model. */
  registered: ModelManifest | null;
  /** The folder below which references may name files. */
  importFolder: string;
}

/**
 * Messages of the process: first which model it is, then what it does, and how it ended. It goes on after `described`
 * when it is told `continue`.
 */
export type InstallerMessage =
  | { type: 'described'; manifest: ModelManifest; note: string }
  | { type: 'progress'; progress: InstallationProgress }
  | { type: 'installed'; manifest: ModelManifest }
  | { type: 'failed'; code: ErrorCode; message: string };

export type InstallerCommand = { type: 'install'; job: InstallerJob } | { type: 'continue' };

/** A started process that installs one model. */
export interface InstallerProcess {
  send(command: InstallerCommand): void;
  onMessage(listener: (message: InstallerMessage) => void): void;
  /** Resolves when it has ended, to how it ended. */
  readonly ended: Promise<string>;
  /** Ends it; resolves when it has ended. Its files stay for the next one, which resumes. */
  stop(): Promise<void>;
}

export type LaunchInstaller = () => InstallerProcess;
