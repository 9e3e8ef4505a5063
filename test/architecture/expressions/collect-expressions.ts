import ts from 'typescript';
import { readText } from '../repository-files.js';

/** A regular expression in a source file. */
export interface FoundExpression {
  path: string;
  line: number;
  /** As written. */
  text: string;
  /** Null where it is put together when the program runs. */
  expression: RegExp | null;
}

/** Every regular expression of a file: literals, and calls of the constructor. */
export function collectExpressions(path: string, content = readText(path)): FoundExpression[] {
  const file = ts.createSourceFile(path, content, ts.ScriptTarget.Latest, true);
  const found: FoundExpression[] = [];
  const add = (node: ts.Node, text: string, expression: RegExp | null): void => {
    found.push({ path, line: file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1, text, expression });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) add(node, node.text, literal(node.text));
    if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText(file) === 'RegExp') {
      add(node, node.getText(file).replaceAll(/\s+/g, ' '), constructed(node.arguments ?? []));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function literal(text: string): RegExp {
  const end = text.lastIndexOf('/');
  return new RegExp(text.slice(1, end), text.slice(end + 1));
}

function constructed(given: readonly ts.Expression[]): RegExp | null {
  const [pattern, flags] = given;
  if (pattern === undefined || !ts.isStringLiteralLike(pattern)) return null;
  return new RegExp(pattern.text, flags !== undefined && ts.isStringLiteralLike(flags) ? flags.text : '');
}
