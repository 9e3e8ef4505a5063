import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { productSources, readText } from './repository-files.js';

/** Names that stand for what an operator configured or runs, never for a caller. */
const operatorOwners = ["'search provider'"];

/** The members `owner` of a file whose value is written there, as an owner of every caller would be. */
function literalOwners(path: string, content: string): string[] {
  if (!content.includes('owner')) return [];
  const file = ts.createSourceFile(path, content, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const isOwner =
      (ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node)) && node.name.getText(file) === 'owner';
    const value = isOwner ? node.initializer : undefined;
    if (
      value !== undefined &&
      ((ts.isStringLiteralLike(value) && value.text !== '') || ts.isTemplateExpression(value))
    ) {
      found.push(value.getText(file));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

describe('slots that requests share', () => {
  it('belong to accounts: no piece of work has an owner that all callers share', () => {
    const found = productSources.flatMap((path) =>
      literalOwners(path, readText(path))
        .filter((owner) => !operatorOwners.includes(owner))
        .map((owner) => `${path}: ${owner}`),
    );
    expect(found).toEqual([]);
  });

  it.each(["const owner = 'pages';", "read({ url, owner: 'pages' });", 'read({ owner: `all ${kind}` });'])(
    'are refused an owner such as %s',
    (planted) => {
      expect(literalOwners('planted.ts', planted)).toHaveLength(1);
    },
  );
});
