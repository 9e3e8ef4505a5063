import { buildTokenTrie, ConstraintCompiler, TextTokenizer } from '#inference';
import { serveBench } from '../bare-child.js';
import type { MatcherPlan } from './matchers.js';

/* Our matcher on the vocabulary of a model, without the model. */

const endToken = 2;
let compiler: ConstraintCompiler;

async function load({ folder }: { folder: string }): Promise<null> {
  const tokenizer = await TextTokenizer.load(folder);
  compiler = new ConstraintCompiler(buildTokenTrie(tokenizer.tokenBytes ?? [], new Set([endToken])));
  return null;
}

async function run({ schema, ids }: MatcherPlan): Promise<Record<string, number>> {
  const startMs = performance.now();
  const compiled = await compiler.compile({ type: 'json-schema', schema, param: 'schema' });
  const compiledMs = performance.now();
  compiled.newMatcher([endToken]).allowed();
  const firstMs = performance.now();
  const maskUs: number[] = [];
  for (let pass = 0; pass < 2; pass++) {
    const matcher = compiled.newMatcher([endToken]);
    const begunMs = performance.now();
    for (const id of ids) {
      matcher.allowed();
      matcher.accept(id);
    }
    maskUs.push(((performance.now() - begunMs) * 1_000) / ids.length);
  }
  return {
    compileMs: compiledMs - startMs,
    firstMaskMs: firstMs - compiledMs,
    newMaskUs: maskUs[0] ?? Number.NaN,
    maskUs: maskUs[1] ?? Number.NaN,
  };
}

serveBench(load, run);
