import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

/*
 * Lets plain Node run the TypeScript sources, so that integration tests can fork the project's processes without a
 * build: `node --conditions=source --import ./test/harness/run-source.mjs file.ts`. Compiled code is cached by content:
 * with a warm cache a process starts without loading the compiler.
 */
const cacheFolder = fileURLToPath(new URL('../../node_modules/.cache/run-source/', import.meta.url));

/** Sources import each other as `.js`; if only the `.ts` file exists, that is used. */
export async function resolve(specifier, context, next) {
  if (!/^(?:file:|\.{1,2}\/).*\.js$/.test(specifier)) return next(specifier, context);
  const url = new URL(specifier, context.parentURL);
  const source = new URL(url.href.replace(/\.js$/, '.ts'));
  return next(!existsSync(url) && existsSync(source) ? source.href : specifier, context);
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const fileName = fileURLToPath(url);
  const text = readFileSync(fileName, 'utf8');
  const key = createHash('sha256').update(`1\n${fileName}\n${text}`).digest('hex').slice(0, 40);
  const cached = `${cacheFolder}${key}.js`;
  const source = existsSync(cached) ? readFileSync(cached, 'utf8') : await compile({ fileName, text, cached });
  return { format: 'module', source, shortCircuit: true };
}

async function compile({ fileName, text, cached }) {
  const { default: typescript } = await import('typescript');
  const compilerOptions = {
    target: typescript.ScriptTarget.ES2023,
    module: typescript.ModuleKind.ESNext,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    inlineSourceMap: true,
  };
  const { outputText } = typescript.transpileModule(text, { fileName, compilerOptions });
  mkdirSync(cacheFolder, { recursive: true });
  // Renamed into place, because another process may read at any moment.
  const partial = `${cached}.${process.pid}`;
  try {
    writeFileSync(partial, outputText);
    renameSync(partial, cached);
  } catch (error) {
    // A sandboxed process may write no file.
    if (error.code !== 'EFBIG') throw error;
    rmSync(partial);
  }
  return outputText;
}

// Node evaluates this file a second time on the hooks thread.
if (isMainThread) register(import.meta.url);
