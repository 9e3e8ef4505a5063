import { dirname, join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { readText, repositoryFiles } from './repository-files.js';

/** A library with more names than this has a second idea in it: give that an entry point of its own. */
const maxNames = 42;

const { imports } = JSON.parse(readText('package.json')) as { imports: Record<string, { 'sluice-source': string }> };

/** The file of each entry point of a library. */
const entries = Object.values(imports).flatMap(({ 'sluice-source': source }) => {
  const pattern = new RegExp(`^${source.slice(2).replaceAll('.', '[.]').replaceAll('*', '[^/]+')}$`);
  return repositoryFiles.filter((path) => path.startsWith('libs/') && pattern.test(path));
});

function isExported(statement: ts.Statement): boolean {
  const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
  return modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
}

function boundNames(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isOmittedExpression(element) ? [] : boundNames(element.name)));
}

function declaredNames(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap(({ name }) => boundNames(name));
  }
  return [(statement as ts.DeclarationStatement).name?.getText() ?? 'default'];
}

/** Returns the names that a file exports, those of `export *` included. A type and a value of one name count once. */
function exportedNames(path: string, text: string, read: (path: string) => string): Set<string> {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const names = file.statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement)) return isExported(statement) ? declaredNames(statement) : [];
    const { exportClause, moduleSpecifier } = statement;
    if (exportClause !== undefined) {
      return ts.isNamedExports(exportClause)
        ? exportClause.elements.map(({ name }) => name.text)
        : [exportClause.name.text];
    }
    const target = join(dirname(path), (moduleSpecifier as ts.StringLiteral).text.replace(/\.js$/, '.ts'));
    return [...exportedNames(target, read(target), read)];
  });
  return new Set(names);
}

describe('the entry points of the libraries', () => {
  it('are all found', () => {
    expect(entries).toEqual(expect.arrayContaining(['libs/common/src/index.ts', 'libs/platform/src/http/index.ts']));
  });

  it.each(entries)('%s exports at most 42 names', (path) => {
    const names = exportedNames(path, readText(path), readText);
    expect(names.size).toBeGreaterThan(0);
    expect([...names].slice(maxNames)).toEqual([]);
  });

  it('are counted with what they pass on', () => {
    const files: Record<string, string> = {
      'a/b.ts': "export * from './c.js';\nexport type { X } from './d.js';\nexport class Y {}\nfunction hidden() {}",
      'a/c.ts':
        "export const one = 1, { two, three: [four] } = f();\nexport * as all from './e.js';\nexport type Y = 1;",
    };
    const names = exportedNames('a/b.ts', files['a/b.ts'] ?? '', (path) => files[path] ?? '');
    expect([...names].toSorted()).toEqual(['X', 'Y', 'all', 'four', 'one', 'two']);
  });
});
