import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { productSources, readText } from './repository-files.js';

/** Participles and pronouns that leave open what a variable holds, and what a name says instead. */
const vague: Readonly<Record<string, string>> = {
  made: 'the thing that was made: images, mask, thread',
  given: 'the thing that was passed: filter, signature, thrown',
  asked: 'the thing that was requested: tiers, query, pending',
  own: 'whose it is: ofAccount, userWindow',
  each: 'the item: model, manifest, candidate',
  usual: 'default…',
  bare: 'raw…, or the thing itself',
};

/** Folders that this rule has not reached yet. */
const unread = /^libs\/(model-store\/src\/convert|inference\/src\/(engines|scheduler))\//;

/** A member of class-validator's options has the same name. */
const exceptions = ['libs/model-registry/src/manifest/source.schema.ts'];

/** Finds the few files that are worth parsing: a name in front of what follows a declared one. */
const mayDeclare = new RegExp(
  String.raw`(^\s*|const |let |function |readonly |[([{,:]\s*|\.\.\.)(${Object.keys(vague).join('|')}|usual[A-Z]\w*)\s*([:=,)}\]?(]|of )`,
  'm',
);

/** The names of variables, parameters and functions that a source declares. */
function declaredNames(path: string, text: string): string[] {
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    const declares =
      ts.isVariableDeclaration(node) ||
      ts.isParameter(node) ||
      ts.isBindingElement(node) ||
      ts.isFunctionDeclaration(node);
    if (declares && node.name !== undefined && ts.isIdentifier(node.name)) names.push(node.name.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest));
  return names;
}

function findVague(path: string, text: string): string[] {
  return declaredNames(path, text).filter((name) => Object.hasOwn(vague, name) || /^usual[A-Z]/.test(name));
}

describe('names of variables, parameters and functions', () => {
  it('say what they hold', () => {
    const found = productSources
      .filter((path) => !unread.test(path) && !exceptions.includes(path))
      .map((path) => ({ path, text: readText(path) }))
      .filter(({ text }) => mayDeclare.test(text))
      .flatMap(({ path, text }) => findVague(path, text).map((name) => `${path}: ${name}`));
    expect(found).toEqual([]);
  });

  it('are found in every kind of declaration, and members keep theirs', () => {
    const text = `
      const made = 1; let [given] = list; for (const each of list) run((own) => own.asked);
      function bare({ usual, wire: usualTier }) { return { asked: usual.made }; }`;
    expect(text).toMatch(mayDeclare);
    expect(findVague('example.ts', text)).toEqual(['made', 'given', 'each', 'own', 'bare', 'usual', 'usualTier']);
  });
});
