import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { root } from './repository-files.js';

/* `npm start` translates with another compiler than `npm run build`: what Nest and the validators read is the same. */

interface Translation {
  openTranslator(folder: string): Promise<(path: string) => string[]>;
}
const { openTranslator } = (await import(pathToFileURL(join(root, 'scripts/translate.mjs')).href)) as Translation;

const source = `
import 'reflect-metadata';
import { Kind, type Shape } from './kind.js';
const calls: string[] = [];
const note = (name: string) => (...args: unknown[]): any => { calls.push(name + ' ' + args.length); };
@note('class')
export class Dependency {}
@note('class')
export class Service {
  declare absent: string;
  plain?: number;
  constructor(private readonly dependency: Dependency, readonly shape: Shape, kind: Kind, names: readonly string[]) {}
  @note('member') key!: Dependency;
  @note('member') get size(): number { return this.shape.size; }
  @note('method') async run(@note('parameter') kind: Kind, other: Dependency | null): Promise<void> {}
}
const of = (key: string, ...target: [object, string?]) => (Reflect as any).getMetadata('design:' + key, ...target);
export const found = {
  calls,
  fields: Object.keys(new Service(new Dependency(), { size: 3 }, Kind.One, [])),
  size: new Service(new Dependency(), { size: 3 }, Kind.One, []).size,
  constructor: of('paramtypes', Service),
  parameters: of('paramtypes', Service.prototype, 'run'),
  returned: of('returntype', Service.prototype, 'run'),
  key: of('type', Service.prototype, 'key'),
};
`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-translate-'));
  mkdirSync(join(folder, 'libs'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(
    join(folder, 'libs/kind.ts'),
    `export enum Kind { One = 1 }\nexport interface Shape { size: number }\n`,
  );
});
afterEach(() => rmSync(folder, { recursive: true }));

it('keeps fields, decorators and the metadata of types', async () => {
  writeFileSync(join(folder, 'libs/service.ts'), source);
  const translate = await openTranslator(folder);
  expect([...translate('libs/kind.ts'), ...translate('libs/service.ts')]).toEqual([]);
  const { Dependency, found } = (await import(pathToFileURL(join(folder, 'dist/libs/service.js')).href)) as {
    Dependency: unknown;
    found: object;
  };
  expect(found).toEqual({
    calls: ['class 1', 'member 3', 'member 3', 'parameter 3', 'method 3', 'class 1'],
    fields: ['dependency', 'shape', 'plain', 'key'],
    size: 3,
    constructor: [Dependency, Object, Object, Array],
    parameters: [Object, Object],
    returned: Promise,
    key: Dependency,
  });
});

it('maps lines to those of the source, also below decorators', async () => {
  writeFileSync(join(folder, 'libs/service.ts'), source);
  (await openTranslator(folder))('libs/service.ts');
  const code = readFileSync(join(folder, 'dist/libs/service.js'), 'utf8').split('\n');
  const map = JSON.parse(readFileSync(join(folder, 'dist/libs/service.js.map'), 'utf8')) as SourceMapPayload;
  const isExport = (text: string) => text.startsWith('export const found');
  const column = 'export const '.length;
  expect(new SourceMap(map).findEntry(code.findIndex(isExport), column)).toMatchObject({
    originalLine: source.split('\n').findIndex(isExport),
    originalColumn: column,
  });
});

it('returns the errors of a file that is no TypeScript, and leaves dist as it is', async () => {
  writeFileSync(join(folder, 'libs/broken.ts'), 'export const = 1;\n');
  expect((await openTranslator(folder))('libs/broken.ts')).toEqual([expect.stringContaining('Unexpected token')]);
  expect(() => readFileSync(join(folder, 'dist/libs/broken.js'))).toThrow('ENOENT');
});
