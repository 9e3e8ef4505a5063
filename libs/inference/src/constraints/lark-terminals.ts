const integer = '[0-9]+';
const exponent = `[eE][+-]?${integer}`;
const decimal = String.raw`(?:${integer}\.[0-9]*|\.${integer})`;
const float = `(?:${integer}${exponent}|${decimal}(?:${exponent})?)`;
const number = `(?:${float}|${integer})`;

/** The terminals of Lark's library `common`, as patterns. */
export const commonTerminals: ReadonlyMap<string, string> = new Map([
  ['DIGIT', '[0-9]'],
  ['HEXDIGIT', '[0-9A-Fa-f]'],
  ['INT', integer],
  ['SIGNED_INT', `[+-]?${integer}`],
  ['DECIMAL', decimal],
  ['FLOAT', float],
  ['SIGNED_FLOAT', `[+-]?${float}`],
  ['NUMBER', number],
  ['SIGNED_NUMBER', `[+-]?${number}`],
  ['ESCAPED_STRING', String.raw`"(?:[^"\\\n]|\\[^\n])*"`],
  ['LCASE_LETTER', '[a-z]'],
  ['UCASE_LETTER', '[A-Z]'],
  ['LETTER', '[A-Za-z]'],
  ['WORD', '[A-Za-z]+'],
  ['CNAME', '[A-Za-z_][A-Za-z0-9_]*'],
  ['WS_INLINE', String.raw`[ \t]+`],
  ['WS', String.raw`[ \t\f\r\n]+`],
  ['CR', String.raw`\r`],
  ['LF', String.raw`\n`],
  ['NEWLINE', String.raw`(?:\r?\n)+`],
  ['SH_COMMENT', String.raw`#[^\n]*`],
  ['CPP_COMMENT', String.raw`//[^\n]*`],
  ['C_COMMENT', String.raw`/\*(?:[^*]|\*+[^*/])*\*+/`],
  ['SQL_COMMENT', String.raw`--[^\n]*`],
]);
