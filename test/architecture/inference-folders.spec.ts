import { dirname, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { productSources, readText } from './repository-files.js';

const library = 'libs/inference/src';

/** Maps each folder to the folders that its files import. */
type FolderImports = ReadonlyMap<string, ReadonlySet<string>>;

/** The top folder of a path inside the library; null for its entry point. */
function folderOf(path: string): string | null {
  const [folder, ...rest] = posix.relative(library, path).split('/');
  return rest.length === 0 ? null : (folder ?? null);
}

function readFolderImports(): FolderImports {
  const imports = new Map<string, Set<string>>();
  for (const path of productSources.filter((each) => each.startsWith(`${library}/`))) {
    const folder = folderOf(path);
    if (folder === null) continue;
    const imported = imports.get(folder) ?? new Set();
    for (const [, specifier = ''] of readText(path).matchAll(/(?:from|import\(?) ?'(\.[^']+)'/g)) {
      const target = folderOf(posix.join(dirname(path), specifier));
      if (target !== null && target !== folder) imported.add(target);
    }
    imports.set(folder, imported);
  }
  return imports;
}

/** Returns the folders of a cycle, the first one repeated at the end; null where there is none. */
function findCycle(imports: FolderImports): string[] | null {
  const done = new Set<string>();
  const visit = (folder: string, path: string[]): string[] | null => {
    if (path.includes(folder)) return [...path.slice(path.indexOf(folder)), folder];
    if (done.has(folder)) return null;
    for (const next of imports.get(folder) ?? []) {
      const cycle = visit(next, [...path, folder]);
      if (cycle !== null) return cycle;
    }
    done.add(folder);
    return null;
  };
  for (const folder of imports.keys()) {
    const cycle = visit(folder, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

describe('the folders of libs/inference', () => {
  it('do not import each other in a cycle, not even by way of a third', () => {
    const imports = readFolderImports();
    expect([...imports.keys()]).toEqual(expect.arrayContaining(['contract', 'engines', 'families', 'host']));
    expect(imports.get('families')).toContain('engines');
    expect(findCycle(imports)).toBe(null);
  });

  it('would be reported if they did', () => {
    const imports = new Map([
      ['host', new Set(['engines'])],
      ['engines', new Set(['text'])],
      ['text', new Set(['engines'])],
    ]);
    expect(findCycle(imports)).toEqual(['engines', 'text', 'engines']);
  });
});
