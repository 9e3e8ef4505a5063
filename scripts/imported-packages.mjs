/* Finds and changes what compiled code imports, for the package that npm packs. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

/** Modules that compiled code names: in statements, which begin a line, and in dynamic imports. */
const patterns = [
  /^((?:import|(?:import|export|\})[^'"\n]*\bfrom)\s*)(['"])([^'"\n]+)\2(;)$/gm,
  /(\bimport\()(['"])([^'"\n]+)\2(\))/g,
];

export function scriptsIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.m?js$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Modules that the text of a file names. */
export function importedSpecifiers(text) {
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, , , name]) => name));
}

/** Rewrites what a file imports. */
export function replaceSpecifiers(path, rename) {
  const text = readFileSync(path, 'utf8');
  const changed = patterns.reduce(
    (result, pattern) =>
      result.replace(pattern, (_, before, quote, name, after) => `${before}${quote}${rename(name)}${quote}${after}`),
    text,
  );
  if (changed !== text) writeFileSync(path, changed);
}

/** The text by which a file imports one in another folder further up. */
export function specifierOf(path, target) {
  return relative(dirname(path), target).split(sep).join('/');
}

/** The name of the package of a module, such as `@scope/name` of `@scope/name/deep.js`. */
export function packageOf(specifier) {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
