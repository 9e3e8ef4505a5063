import { existsSync, readFileSync } from 'node:fs';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import typescript from 'typescript';

/*
 * Lets plain Node run the TypeScript sources, so that integration tests can fork the processes of the house as they
 * are in the checkout, without a build: `node --conditions=sluice-source --import ./test/harness/run-source.mjs file.ts`.
 * Registers itself as the loader when imported by the main thread.
 */
const compilerOptions = {
  target: typescript.ScriptTarget.ES2023,
  module: typescript.ModuleKind.ESNext,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  inlineSourceMap: true,
};

/** The sources name each other `.js`, as their build does; where only a `.ts` lies there, that is meant. */
export async function resolve(specifier, context, next) {
  if (!/^(?:file:|\.{1,2}\/).*\.js$/.test(specifier)) return next(specifier, context);
  const url = new URL(specifier, context.parentURL);
  const source = new URL(url.href.replace(/\.js$/, '.ts'));
  return next(!existsSync(url) && existsSync(source) ? source.href : specifier, context);
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const fileName = fileURLToPath(url);
  const { outputText } = typescript.transpileModule(readFileSync(fileName, 'utf8'), { fileName, compilerOptions });
  return { format: 'module', source: outputText, shortCircuit: true };
}

// Node evaluates this file a second time, as the hooks themselves, on a thread of their own.
if (isMainThread) register(import.meta.url);
