import { readFile, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pullError } from './pull-error.js';

/* Folders in which other programs keep the models that they have downloaded. */

/** A file or folder of this machine, and the name of its model where the path does not say it. */
export interface LocalPlace {
  path: string;
  name?: string;
}

/**
 * Returns the snapshot of a folder of a hub's cache, `models--<owner>--<name>`, and the model's name, also for a path
 * that is the snapshot. Null for any other folder.
 */
export async function snapshotOf(folder: string): Promise<LocalPlace | null> {
  const parent = dirname(folder);
  if (basename(parent) === 'snapshots') {
    const name = repositoryName(basename(dirname(parent)));
    return name === null ? null : { path: folder, name };
  }
  const name = repositoryName(basename(folder));
  const snapshots = name === null ? [] : await readdir(join(folder, 'snapshots')).catch(() => []);
  if (name === null || snapshots.length === 0) return null;
  const main = (await readFile(join(folder, 'refs', 'main'), 'utf8').catch(() => '')).trim();
  const [only, ...others] = snapshots;
  const chosen = snapshots.includes(main) ? main : others.length === 0 ? only : undefined;
  if (chosen !== undefined) return { path: join(folder, 'snapshots', chosen), name };
  throw pullError(`${folder} has several snapshots; name one, as in ${join(folder, 'snapshots', only ?? '')}.`);
}

function repositoryName(folder: string): string | null {
  const [kind, owner, ...name] = folder.split('--');
  return kind === 'models' && owner !== undefined && name.length > 0 ? name.join('-') : null;
}

const modelLayer = 'application/vnd.ollama.image.model';
const maxManifestBytes = 1 << 20;

/**
 * Returns the weights that a manifest of Ollama names, `…/models/manifests/<host>/<owner>/<model>/<tag>`. Null for any
 * other file.
 */
export async function ollamaModelOf(path: string): Promise<LocalPlace | null> {
  if ((await stat(path)).size > maxManifestBytes) return null;
  const digest = modelDigest(await readFile(path, 'utf8'));
  if (digest === null) return null;
  const name = `${basename(dirname(path))}-${basename(path)}`;
  for (let folder = dirname(path); dirname(folder) !== folder; folder = dirname(folder)) {
    const blob = join(folder, 'blobs', digest.replace(':', '-'));
    if ((await stat(blob).catch(() => null))?.isFile()) return { path: blob, name };
  }
  throw pullError(`${path} names the weights ${digest.slice(0, 80)}, and no folder blobs above it holds them.`);
}

function modelDigest(text: string): string | null {
  try {
    const { layers } = JSON.parse(text) as { layers?: { mediaType?: unknown; digest?: unknown }[] };
    const digest = layers?.find(({ mediaType }) => mediaType === modelLayer)?.digest;
    return typeof digest === 'string' && /^sha256:[0-9a-f]{64}$/.test(digest) ? digest : null;
  } catch {
    return null;
  }
}
