import type { InstallableModel } from '../../api/installation-responses.js';
import { formatBytes } from '../../format/numbers.js';

export interface InstallForm {
  /** A kind of the catalog; empty: every kind. */
  kind: string;
  /** The id of a model of the catalog; empty: `reference` says what it is. */
  chosen: string;
  reference: string;
  id: string;
  weights: string;
  /** Empty: what the files of the model say; so is `pooling`. */
  purpose: string;
  pooling: string;
  /** Null until it was chosen; empty: it is not placed. */
  pool: string | null;
}

export const emptyInstallForm: InstallForm = {
  ...{ kind: '', chosen: '', reference: '', id: '', weights: '', purpose: '', pooling: '' },
  pool: null,
};

export const weightOptions: readonly (readonly [string, string])[] = [
  ['', 'As in the file'],
  ['int4', 'int4'],
  ['int8', 'int8'],
  ['int8-channel', 'int8-channel'],
  ['float32', 'float32'],
];

export const purposeOptions: readonly (readonly [string, string])[] = [
  ['', 'As its files say'],
  ['text', 'text'],
  ['embedding', 'embedding'],
  ['rerank', 'rerank'],
];

export const poolingOptions: readonly (readonly [string, string])[] = [
  ['', 'As its files say'],
  ['mean', 'mean'],
  ['cls', 'cls'],
  ['last', 'last'],
  ['max', 'max'],
];

/** The body of `POST model_installations`. Fields that are empty are left out. */
export function installRequestOf(form: InstallForm, pool: string): Record<string, string> {
  const { id, weights, purpose, pooling } = form;
  const draftFields = form.chosen === '' ? { id: id.trim(), weights, purpose, pooling } : {};
  const fields = { reference: form.chosen === '' ? form.reference.trim() : form.chosen, ...draftFields, pool };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}

/** The kinds of the catalog, by name. */
export function kindsOf(models: readonly InstallableModel[]): string[] {
  return [...new Set(models.map(({ kind }) => kind))].toSorted();
}

/** Returns the line of a model in a list: `Qwen3 4B – 4.5 GB, Apache-2.0`. */
export function optionText({ name, sizeBytes, license, installed }: InstallableModel): string {
  const size = sizeBytes === null ? [] : [formatBytes(sizeBytes)];
  return `${name} – ${[...size, license, ...(installed ? ['installed'] : [])].join(', ')}`;
}
