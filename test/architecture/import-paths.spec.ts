import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { readText } from './repository-files.js';

type Imports = Record<string, { 'sluice-source': string; default: string }>;

const { imports: all } = JSON.parse(readText('package.json')) as { imports: Imports };
/** Plain JavaScript is not compiled, and a path would lead past the types beside it. */
const isCompiled = ([, { 'sluice-source': source }]: [string, Imports[string]]): boolean => source.endsWith('.ts');
const imports = Object.fromEntries(Object.entries(all).filter(isCompiled));

function readCompilerOptions(path: string): { paths?: Record<string, string[]> } {
  const { config } = ts.parseConfigFileTextToJson(path, readText(path)) as {
    config: { compilerOptions: { paths?: Record<string, string[]> } };
  };
  return config.compilerOptions;
}

describe('the paths of tsconfig.json', () => {
  it('are the imports of package.json under the condition for sources, in the same order', () => {
    const sources = Object.entries(imports).map(([name, { 'sluice-source': source }]) => [name, [source]]);
    expect(Object.entries(readCompilerOptions('tsconfig.json').paths ?? {})).toEqual(sources);
  });

  it('are left out of the build, whose files keep the names that Node resolves', () => {
    expect(readCompilerOptions('tsconfig.build.json').paths).toEqual({});
  });

  it('name the source of each compiled file', () => {
    for (const { 'sluice-source': source, default: compiled } of Object.values(imports)) {
      expect(compiled).toBe(source.replace(/^\.\//, './dist/').replace(/\.ts$/, '.js'));
    }
  });
});
