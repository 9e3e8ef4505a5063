import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { documentLimits, type SourceFile } from '#characters';
import { PlatformError } from '#common';

/** Reads a folder and those in it, by name; hidden files are left out. Throws `INVALID_REQUEST` naming the file. */
export async function readDocumentFolder(folder: string): Promise<SourceFile[]> {
  const paths = (await pathsIn(folder)).toSorted();
  if (paths.length === 0)
    throw refusal(`${folder} has no files. To remove documents: sluice characters documents remove`);
  if (paths.length > documentLimits.files) throw refusal(`${folder} has more than ${documentLimits.files} files.`);
  const files: SourceFile[] = [];
  for (const path of paths) {
    const name = relative(folder, path).split(sep).join('/');
    if (name.length > documentLimits.nameLength) {
      throw refusal(`${name}: the name has more than ${documentLimits.nameLength} characters.`);
    }
    if ((await stat(path)).size > documentLimits.fileBytes) throw refusal(`${name} has more than 25 MB.`);
    files.push({ name, bytes: await readFile(path) });
  }
  return files;
}

async function pathsIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') throw refusal(`There is no folder ${folder}.`);
    throw error;
  });
  const visible = entries.filter(({ name }) => !name.startsWith('.'));
  const inner = await Promise.all(
    visible.filter((entry) => entry.isDirectory()).map(({ name }) => pathsIn(join(folder, name))),
  );
  const own = visible.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name));
  return [...own, ...inner.flat()];
}

function refusal(message: string): PlatformError {
  return new PlatformError('INVALID_REQUEST', message);
}
