/*
 * Translates single TypeScript files without checking their types, as `npm start` and `npm run dev` do. The compiler of the
 * bundler that builds the console takes half a second of processor time for all sources; TypeScript's own takes 20 s.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/**
 * Helpers of decorators, by the module that translated code would import them from, each on one line so that source maps
 * stay right. Types that are no classes become `Object` in the metadata, as with TypeScript.
 */
const helpers = {
  '@oxc-project/runtime/helpers/decorate':
    'function NAME(all, target, key, own) { const count = arguments.length; let result = count < 3 ? target : own === null ? (own = Object.getOwnPropertyDescriptor(target, key)) : own; for (const one of all.toReversed()) if (one) result = (count < 3 ? one(result) : count > 3 ? one(target, key, result) : one(target, key)) || result; if (count > 3 && result) Object.defineProperty(target, key, result); return result; }',
  '@oxc-project/runtime/helpers/decorateParam':
    'function NAME(index, decorator) { return (target, key) => decorator(target, key, index); }',
  '@oxc-project/runtime/helpers/decorateMetadata':
    "function NAME(key, value) { const type = (one) => (one === undefined || typeof one === 'function' ? one : Object); return Reflect.metadata(key, Array.isArray(value) ? value.map(type) : type(value)); }",
};
const helperImport = /^import (\w+) from ["'](@oxc-project\/runtime\/[^"']+)["'];$/gm;

/**
 * Returns a function that translates one file, such as `libs/queue/src/index.ts`, to `dist` without checking its types. It
 * returns the syntax errors of the file, as text, and leaves `dist` as it is if there are any.
 */
export async function openTranslator(folder) {
  const { transformSync } = await import('rolldown/utils');
  return (path) => {
    const result = transformSync(path, readFileSync(join(folder, path), 'utf8'), {
      lang: 'ts',
      target: 'es2023',
      sourcemap: true,
      tsconfig: false,
      decorator: { legacy: true, emitDecoratorMetadata: true },
    });
    const unknown = [];
    const code = result.code.replaceAll(helperImport, (line, name, module) => {
      if (helpers[module] === undefined) unknown.push(`It needs ${module}, which nothing provides.`);
      return helpers[module]?.replace('NAME', name) ?? line;
    });
    const errors = [...result.errors.map(({ message }) => plainText(message)), ...unknown];
    if (errors.length > 0) return errors;
    const output = join(folder, 'dist', path.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(output), { recursive: true });
    writeFileSync(output, code);
    writeFileSync(`${output}.map`, JSON.stringify(result.map ?? {}));
    return [];
  };
}

/** The message of a syntax error without the excerpt below it and without colors. */
function plainText(message) {
  const [line = ''] = stripVTControlCharacters(message).split('\n');
  return `${line.replace(/^\[PARSE_ERROR\]\s*/, '')}.`;
}
