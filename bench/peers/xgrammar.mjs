// Reads a document with the matcher of web-xgrammar, on the vocabulary of a model.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { servePeer } from './peer-channel.mjs';

const endToken = 2;
let library;
let compiler;

/** A UMD file in a package of modules, which neither `import` nor `require` loads. */
async function loadLibrary() {
  const require = createRequire(import.meta.url);
  const path = require.resolve('@mlc-ai/web-xgrammar');
  const loaded = { exports: {} };
  const evaluate = new Function(
    'exports',
    'module',
    'require',
    '__filename',
    '__dirname',
    await readFile(path, 'utf8'),
  );
  evaluate(loaded.exports, loaded, require, path, dirname(path));
  return loaded.exports;
}

async function load({ folder }) {
  library = await loadLibrary();
  const { model } = JSON.parse(await readFile(join(folder, 'tokenizer.json'), 'utf8'));
  const vocabulary = [];
  for (const [token, id] of Object.entries(model.vocab)) vocabulary[id] = token;
  const info = await library.TokenizerInfo.createTokenizerInfo(vocabulary, 'byte_fallback', true, vocabulary.length, [
    endToken,
  ]);
  compiler = await library.GrammarCompiler.createGrammarCompiler(info, false);
  return null;
}

async function run({ schema, ids }) {
  const startMs = performance.now();
  const compiled = await compiler.compileJSONSchema(JSON.stringify(schema));
  const compiledMs = performance.now();
  const first = await library.GrammarMatcher.createGrammarMatcher(compiled);
  await first.getNextTokenBitmask();
  const firstMs = performance.now();
  first.dispose();
  const maskUs = [];
  for (let pass = 0; pass < 2; pass++) {
    const matcher = await library.GrammarMatcher.createGrammarMatcher(compiled);
    const begunMs = performance.now();
    for (const id of ids) {
      await matcher.getNextTokenBitmask();
      if (!matcher.acceptToken(id)) throw new Error('web-xgrammar refuses a token of the document');
    }
    maskUs.push(((performance.now() - begunMs) * 1_000) / ids.length);
    matcher.dispose();
  }
  compiled.dispose();
  return {
    compileMs: compiledMs - startMs,
    firstMaskMs: firstMs - compiledMs,
    newMaskUs: maskUs[0],
    maskUs: maskUs[1],
  };
}

servePeer({ load, run });
