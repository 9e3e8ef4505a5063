/* Responses of `api/admin/v1` about models that are installed. */

export interface InstallationRow {
  id: string;
  reference: string;
  state: 'waiting' | 'pulling' | 'converting' | 'registering' | 'installed' | 'failed' | 'cancelled';
  /** Null until the reference was inspected. */
  model: string | null;
  progress: InstallationProgress | null;
  note: string | null;
  error: { code: string; message: string } | null;
  attempt: number;
  createdAt: string;
  finishedAt: string | null;
}

export interface InstallationProgress {
  stage: 'inspect' | 'download' | 'verify' | 'convert' | 'check' | 'register';
  file: string | null;
  done: number;
  total: number | null;
  unit: 'bytes' | 'steps';
}

export interface InstallableModel {
  id: string;
  name: string;
  kind: string;
  origin: 'bundled' | 'open';
  about: string;
  license: string;
  sizeBytes: number | null;
  gated: boolean;
  installed: boolean;
}

export interface ModelCatalog {
  installers: { host: string; importFolder: string; freeBytes: number }[];
  /** Tells how models can be installed, where no process does. */
  hint: string | null;
  data: InstallableModel[];
}
