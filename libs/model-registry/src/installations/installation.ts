import type { ErrorCode } from '#common';
import type { ModelManifest } from '../manifest/index.js';

export const installationStates = [
  'waiting',
  'pulling',
  'converting',
  'registering',
  'installed',
  'failed',
  'cancelled',
] as const;
export type InstallationState = (typeof installationStates)[number];

const openStates: readonly InstallationState[] = ['waiting', 'pulling', 'converting', 'registering'];

/** True until the installation has succeeded, failed or been cancelled. */
export function isOpen(state: InstallationState): boolean {
  return openStates.includes(state);
}

/** The work of an owner at the moment; `check` runs a prompt in a host of its own. */
export const installationStages = ['inspect', 'download', 'verify', 'convert', 'check', 'register'] as const;
export type InstallationStage = (typeof installationStages)[number];

export interface InstallationProgress {
  stage: InstallationStage;
  /** A file of the model, a package, or the kind of the conversion; null where the stage has none. */
  file: string | null;
  done: number;
  /** Null while unknown. */
  total: number | null;
  /** The unit of `done` and `total`. */
  unit: 'bytes' | 'steps';
}

/** The options of `sluice models add`; for a model with a manifest, `pool` only. */
export interface InstallationOptions {
  id?: string;
  name?: string;
  tier?: ModelManifest['tier'];
  /** USD per million tokens. */
  inputPriceUsd?: number;
  outputPriceUsd?: number;
  weights?: string;
  contextLength?: number;
  /** The purpose of a decoder: `text`, `embedding` or `rerank`. */
  purpose?: string;
  /** The way in which the vectors of an embedding model's tokens become one. */
  pooling?: string;
  /** The installed model that a LoRA adapter changes. */
  base?: string;
  /** The pool in which it is placed when it is installed; absent: none. */
  pool?: string;
}

export interface InstallationRequest {
  /** A reference for `sluice models add` or `sluice models pull`. */
  reference: string;
  options: InstallationOptions;
}

export interface Installation extends InstallationRequest {
  id: string;
  requestedBy: { id: string; description: string; last6: string } | null;
  state: InstallationState;
  modelId: string | null;
  progress: InstallationProgress | null;
  /** A description of the model and of the memory it takes. */
  note: string | null;
  error: { code: ErrorCode; message: string } | null;
  attempt: number;
  /** The process that works on it, as `host:process id`; null while none does. */
  owner: string | null;
  createdAt: Date;
  updatedAt: Date;
  finishedAt: Date | null;
}

/** The right to change an installation, until it expires or another owner takes it over. */
export interface InstallationLease extends InstallationRequest {
  id: string;
  token: string;
  attempt: number;
}

/** A process that installs models. */
export interface Installer {
  id: string;
  host: string;
  /** References may name files below it. */
  importFolder: string;
  freeBytes: number;
  /** Ids of the models in its store. */
  installed: string[];
}

/** Silence of an owner after which another takes its installation over, in ms. */
export const leaseMs = 15_000;

/** An installation whose owners end before it does fails after so many of them: it may be what ends them. */
export const maxAttempts = 5;

/**
 * Returns the state in which an owner reports a stage. Files are verified before and after a conversion, so a stage
 * does not lead back from a later state.
 */
export function stateOf(stage: InstallationStage, current: InstallationState): InstallationState {
  if (stage === 'check' || stage === 'register') return 'registering';
  if (stage === 'convert') return 'converting';
  return current === 'converting' || current === 'registering' ? current : 'pulling';
}
