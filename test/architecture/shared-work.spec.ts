import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { productSources, readText } from './repository-files.js';

/** A signal of one request, as it is named in the code. */
const signalOfRequest = /\b(?:signal|disconnected|inTime)\b/;

/**
 * Places where a promise that several requests may await is made with the signal of one of them: assigned by `??=`, or
 * kept by `set`.
 */
function endedByOneRequest(path: string, content: string): string[] {
  if (!/\?\?=|\.set\(/.test(content)) return [];
  const file = ts.createSourceFile(path, content, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const report = (node: ts.Node): void => {
    found.push(`${path}:${file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1}`);
  };
  const isCallWithSignal = (node: ts.Node): boolean => {
    const called = ts.isAwaitExpression(node) ? null : node;
    if (called === null) return false;
    if (ts.isCallExpression(called) && called.arguments.some((given) => signalOfRequest.test(given.getText(file)))) {
      return true;
    }
    // What a function does later, it does for whoever calls it then.
    return !ts.isFunctionLike(called) && called.getChildren(file).some(isCallWithSignal);
  };
  const examine = (node: ts.Node, started: ReadonlySet<string>): void => {
    const inner = new Set(started);
    if (ts.isBlock(node)) {
      for (const statement of node.statements.filter(ts.isVariableStatement)) {
        for (const { name, initializer } of statement.declarationList.declarations) {
          if (initializer !== undefined && isCallWithSignal(initializer)) inner.add(name.getText(file));
        }
      }
    }
    const isKept =
      ts.isBinaryExpression(node) &&
      node.operatorToken.kind === ts.SyntaxKind.QuestionQuestionEqualsToken &&
      node.left.getText(file).startsWith('this.');
    if (isKept && isCallWithSignal((node as ts.BinaryExpression).right)) report(node);
    const isSet = ts.isCallExpression(node) && /^this\.\w+\.set$/.test(node.expression.getText(file));
    if (isSet) {
      const [, value] = (node as ts.CallExpression).arguments;
      const names = value === undefined ? [] : (value.getText(file).match(/\w+/g) ?? []);
      if (value !== undefined && (isCallWithSignal(value) || names.some((name) => inner.has(name)))) report(node);
    }
    ts.forEachChild(node, (child) => examine(child, inner));
  };
  examine(file, new Set());
  return found;
}

describe('work that requests share', () => {
  it('does not end with the request that began it', () => {
    expect(productSources.flatMap((path) => endedByOneRequest(path, readText(path)))).toEqual([]);
  });

  it.each([
    'class A { of(o, signal) { const rules = this.read(o, signal); this.known.set(o, { rules, at: 1 }); return rules; } }',
    'class A { of(o, signal) { this.known.set(o, this.read(o, { signal })); } }',
    'class A { of(signal) { this.reading ??= this.read(signal); return this.reading; } }',
    'class A { of() { this.reading ??= this.read(this.disconnected).finally(() => 0); return this.reading; } }',
  ])('is found where it does: %#', (planted) => {
    expect(endedByOneRequest('planted.ts', planted)).toHaveLength(1);
  });

  it.each([
    'class A { async of(o, signal) { const rules = await this.read(o, signal); this.known.set(o, rules); } }',
    'class A { of(o) { this.reading ??= this.read(o); return within(signal, this.reading); } }',
  ])('is not found where it does not: %#', (planted) => {
    expect(endedByOneRequest('planted.ts', planted)).toEqual([]);
  });
});
