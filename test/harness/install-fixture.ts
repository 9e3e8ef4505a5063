import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type InstalledRecord, modelFolder } from '#model-store';

/**
 * Installs what `build` writes into a folder as a pull does: written to a sibling folder and renamed into place, with
 * an `installed.json` that lists every file. `converter` is recorded there.
 */
export async function installFixture<Built>(
  home: string,
  { id, converter = 'tiny-models/1' }: { id: string; converter?: string },
  build: (folder: string) => Promise<Built>,
): Promise<Built> {
  const target = modelFolder(home, id);
  const partial = join(dirname(target), `.partial-${id}-${process.pid}`);
  await mkdir(partial, { recursive: true });
  const built = await build(partial);
  const installedAt = new Date(0).toISOString();
  const record: InstalledRecord = { modelId: id, installedAt, converter, files: await listFiles(partial) };
  await writeFile(join(partial, 'installed.json'), `${JSON.stringify(record, null, 1)}\n`);
  await rm(target, { recursive: true, force: true });
  await rename(partial, target);
  return built;
}

async function listFiles(folder: string): Promise<InstalledRecord['files']> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return await Promise.all(
    paths.sort().map(async (path) => {
      const content = await readFile(path);
      const sha256 = createHash('sha256').update(content).digest('hex');
      return { path: path.slice(folder.length + 1), bytes: content.length, sha256 };
    }),
  );
}
