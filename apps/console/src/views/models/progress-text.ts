import type { InstallationProgress, InstallationRow } from '../../api/installation-responses.js';
import { formatBytes } from '../../format/numbers.js';

const stages: Record<InstallationProgress['stage'], string> = {
  inspect: 'Reading what it is',
  download: 'Downloading',
  verify: 'Verifying',
  convert: 'Converting',
  check: 'Running a prompt',
  register: 'Registering',
};

/** Says what an installation does, as a sentence part: `Downloading model.gguf: 1.2 GB of 4.5 GB`. */
export function progressText({ state, progress }: Pick<InstallationRow, 'state' | 'progress'>): string {
  if (state === 'waiting') return 'Waiting for the process that has the model store';
  if (progress === null) return 'Starting';
  const { stage, file, done, total, unit } = progress;
  const what = file === null ? stages[stage] : `${stages[stage]} ${file}`;
  if (unit === 'bytes') return `${what}: ${formatBytes(done)}${total === null ? '' : ` of ${formatBytes(total)}`}`;
  return total === null ? what : `${what}: step ${done} of ${total}`;
}

/** Returns the progress in percent; null while the total is unknown. */
export function progressPercent(progress: InstallationProgress | null): number | null {
  if (progress === null || progress.total === null || progress.total === 0) return null;
  return Math.min(100, Math.floor((progress.done / progress.total) * 100));
}

export function isOpen({ state }: Pick<InstallationRow, 'state'>): boolean {
  return state === 'waiting' || state === 'pulling' || state === 'converting' || state === 'registering';
}
