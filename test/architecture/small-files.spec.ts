import { basename, dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { productSources, readText, repositoryFiles, sources } from './repository-files.js';

const maxLines = 40;
/** A new small file counts as one more; fold it into the file that imports it. */
const maxSmallFiles = 38;

/** Files whose name is a convention: entry points, DTOs, documents, and one of each kind of a table. */
const conventional =
  /(^|\/)(index|main)\.ts$|\.(main|module|controller|document|presenter|normalizer|request|response|job|meter|schema|repository|source|provider|style|step|consumer|processor)\.ts$/;

const staticImport = /^(?:import|export)\b[^'"]*?\bfrom '(\.[^']+)';|^import '(\.[^']+)';/gm;

/** The files that import each file; a dynamic import is a file of its own for a reason. */
function findImporters(): Map<string, Set<string>> {
  const importers = new Map<string, Set<string>>();
  for (const path of sources) {
    for (const [, named, unnamed] of readText(path).matchAll(staticImport)) {
      const imported = normalize(join(dirname(path), (named ?? unnamed ?? '').replace(/\.js$/, '.ts')));
      importers.set(imported, (importers.get(imported) ?? new Set()).add(path));
    }
  }
  return importers;
}

function findSmallFiles(): string[] {
  const importers = findImporters();
  const products = new Set(productSources);
  const known = new Set(repositoryFiles);
  return productSources.filter((path) => {
    if (conventional.test(path) || known.has(path.replace(/\.ts$/, '.spec.ts'))) return false;
    if (readText(path).split('\n').length - 1 > maxLines) return false;
    const [importer, ...others] = [...(importers.get(path) ?? [])].filter((importing) => products.has(importing));
    if (importer === undefined || others.length > 0) return false;
    return dirname(importer) === dirname(path) && basename(importer) !== 'index.ts';
  });
}

describe('files of up to 40 lines without a test of their own', () => {
  it('are few where only one file of their folder imports them', () => {
    expect(findSmallFiles().length).toBeLessThanOrEqual(maxSmallFiles);
  });
});
