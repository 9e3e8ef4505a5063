import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { Automaton } from './automaton.js';
import { utf8Of } from './code-points.js';
import { Grammar } from './grammar.js';
import { compileLark } from './lark.js';
import { commonTerminals } from './lark-terminals.js';
import { ConstraintRefusal } from './refusal.js';
import { RegexArena } from './regex.js';
import { accepts } from './schema-automaton.js';
import { RelaxedKeywords } from './relaxed-keywords.js';
import { compilePart } from './text-part.js';

function finished<Result>(work: Generator<unknown, Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

function automatonOf(source: string): Automaton {
  const grammar = new Grammar();
  const start = finished(compileLark(grammar, source, utf8Of));
  finished(grammar.finish(start));
  return Automaton.of(grammar, start);
}

/** The grammar of patches that coding agents send. */
const patch = `start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
`;

const arithmetic = `// Calculations
?start: sum
?sum: product
    | sum "+" product   -> add
    | sum "-" product   -> sub
?product: atom | product "*" atom | product "/" atom
?atom: NUMBER | "-" atom | "(" sum ")" | CNAME
%import common (NUMBER, CNAME)
%import common.WS_INLINE -> WS
%ignore WS`;

describe('compileLark', () => {
  it.each<[string, string[], string[]]>([
    ['start: "yes" | "no"i', ['yes', 'no', 'NO', 'nO'], ['', 'YES', 'yesno']],
    ['start: A~2 B~1..3 [C]\nA: "a"\nB: /[b-d]+/\nC: "\\u00e9\\n"', ['aab', 'aabcdé\n'], ['ab', 'aa', 'aabé']],
    ['start: "a".."c" (X | Y)*\nX.2: DIGIT+ "."\nY: "\\"" \nDIGIT: "0".."9"', ['a', 'b12.""'], ['d', 'a1']],
    ['start: "a" start "b" | ', ['', 'ab', 'aaabbb'], ['aab', 'ba']],
    ['start: item\n!item.1: "x"\n?other: "y"?', ['x'], ['', 'y']],
    ['start: list # the items\nlist: list "," word | word\nword: /\\w/', ['a', 'a,b', 'a,b,c'], ['', 'a,', ',a', 'ab']],
    ['start: /[^\\/]/ "/"', ['a/', '😀/'], ['//', 'a']],
    [
      patch,
      [
        '*** Begin Patch\n*** Add File: a b.txt\n+one\n+\n*** End Patch',
        '*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@ f()\n-x\n+y\n*** End of File\n*** End Patch\n',
        '*** Begin Patch\n*** Delete File: a\n*** Delete File: b\n*** End Patch\n',
      ],
      ['*** Begin Patch\n*** End Patch', '*** Begin Patch\n*** Add File: a\none\n*** End Patch', '+a\n'],
    ],
    [arithmetic, ['1', ' 1 + 2.5*(x_1 - -3) ', '2*3/4-1-1'], ['', '1 +', '(1', '1 2', '*1']],
  ])('reads %j', (source, members, others) => {
    const automaton = automatonOf(source);
    for (const text of members) expect([text, accepts(automaton, text)]).toEqual([text, true]);
    for (const text of others) expect([text, accepts(automaton, text)]).toEqual([text, false]);
  });

  it('reads texts of tens of thousands of characters, each different one made once', () => {
    const byteSet = vi.spyOn(RegexArena.prototype, 'byteSet');
    const text = 'abcé'.repeat(5_000);
    const automaton = automatonOf(`start: "${text}" "." ${'"x" '.repeat(5_000)}`);
    expect(byteSet.mock.calls.length).toBeLessThan(100);
    byteSet.mockRestore();
    expect(accepts(automaton, `${text}.${'x'.repeat(5_000)}`)).toBe(true);
    expect(accepts(automaton, `${text}${'x'.repeat(5_000)}`)).toBe(false);
  });

  it.each<[string, string]>([
    ['root: "a"', 'there is no rule named start'],
    ['start: "a"\n  other', 'line 2: other is not defined'],
    ['start: A\nA: b\nb: "x"', 'line 2: a terminal refers to the rule b'],
    ['start: A\nA: "(" A ")" | "x"', 'line 2: the terminal A refers to itself'],
    ['start: "a"\nstart: "b"', 'line 2: start is defined twice'],
    ['start: a "x" | "y"\na: start', 'line 1, the rule start: begins with itself through other rules (left recursion)'],
    ['start: start', 'no value satisfies the schema'],
    ['start: sep{"a"}', 'line 1: sep{…} is a template, which is not supported'],
    ['start: "a"\nsep{x}: x', 'line 2: sep{x} is a template, which is not supported'],
    ['start: "a"\n%declare B', 'line 2: %declare is not supported'],
    ['start: A\n%import python.A', 'line 2: %import is supported for terminals of `common` only'],
    ['start: A\n%import common.A', 'line 2: common.A is not supported'],
    ['start: "a\n"', 'line 1: expected " before the end of the line'],
    ['start: "\\q"', 'line 1: unknown escape \\q'],
    ['start: "ab".."c"', 'line 1: a range is between two characters'],
    ['start: "b".."a"', 'line 1: a range of characters is out of order'],
    ['start: /a/i', 'line 1: the flags i of a pattern are not supported'],
    ['start: "a"\n  /(?=b)c/', 'line 2: a pattern with look-ahead inside of a group is not supported'],
    ['start: /[^]]+/', 'line 1: the pattern "[^]]+" has a ] at the start of a class: write \\]'],
    ['start: "a"\n  /[]a]/', 'line 2: the pattern "[]a]" has a ] at the start of a class: write \\]'],
    ['start: /[[:alpha:]]/', 'line 1: the pattern "[[:alpha:]]" has a [ in a class: write \\['],
    ['start: /[a-z&&b]/', 'line 1: the pattern "[a-z&&b]" has && in a class: write \\& for the characte'],
    ['start: /[+--]/', 'line 1: the pattern "[+--]" has -- in a class: write \\- for the characte'],
    ['start: /^a/', 'line 1: a pattern with ^ or $ inside is not supported'],
    ['start: /a', 'line 1: a pattern ends with / in its line'],
    ['start: ("a"', 'line 1: expected )'],
    ['start: "a" }', 'line 1: unexpected "}"'],
    ['start: "a"~3..2', 'line 1: a repetition is out of order'],
    ['start: a~2000\na: "x"', 'line 1: repeats more than 1000 times, which is not supported here'],
    [`start: ${'('.repeat(300)}`, 'line 1: is nested too deeply'],
    ['"a"', 'line 1: expected a rule (name: …) or a directive'],
  ])('refuses %j by its line', (source, message) => {
    expect(() => automatonOf(source)).toThrow(ConstraintRefusal);
    expect(() => automatonOf(source)).toThrow(message);
  });

  it.each<[string, string[], string[]]>([
    ['ESCAPED_STRING', ['""', '"a\\"b"', '"\\\\"'], ['"', '"\\"', '"a"b"', '"\n"']],
    ['FLOAT', ['1.', '.5', '1e9', '1.5E-3'], ['1', '.', 'e1']],
    ['SIGNED_NUMBER', ['-1', '+2.5', '3'], ['', '--1']],
    ['C_COMMENT', ['/**/', '/* a * b\n **/'], ['/* */ */', '/*/']],
    ['NEWLINE', ['\n', '\r\n\n'], ['\r', '']],
  ])('knows the common terminal %s', (name, members, others) => {
    expect(commonTerminals.has(name)).toBe(true);
    const automaton = automatonOf(`start: ${name}\n%import common.${name}`);
    for (const text of members) expect([text, accepts(automaton, text)]).toEqual([text, true]);
    for (const text of others) expect([text, accepts(automaton, text)]).toEqual([text, false]);
  });
});

describe('any text', () => {
  const pieces = [
    'start:',
    'a:',
    'A:',
    ' start',
    ' a',
    ' A',
    ' "x"',
    ' /y+/',
    '"..',
    '|',
    '(',
    ')',
    '[',
    ']',
    '*',
    '?',
  ];
  const more = ['~2', '->b', '\n', '%ignore', '%import common.WS', '{', '"', '/', '\\', '//', ':', '.1', '!', '%'];

  it('is compiled or refused', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces, ...more), { maxLength: 24 }), (parts) => {
        try {
          automatonOf(parts.join(''));
        } catch (error) {
          if (!(error instanceof ConstraintRefusal)) throw error;
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('a JSON string with a format', () => {
  const partOf = (syntax: 'regex' | 'lark', definition: string) => {
    const { grammar, start } = finished(
      compilePart({ type: 'json-string', format: { syntax, definition }, param: 'p' }, new RelaxedKeywords()),
    );
    return Automaton.of(grammar, start);
  };

  it('holds the text as JSON writes it', () => {
    const lark = partOf('lark', 'start: "a\\n" (start | /"[^"]"/)');
    for (const text of ['a\n"b"', 'a\na\n"\\"', 'a\na\na\n"\t"']) {
      expect([text, accepts(lark, JSON.stringify(text))]).toEqual([text, true]);
    }
    for (const text of ['a\n', 'a"b"', '']) expect([text, accepts(lark, JSON.stringify(text))]).toEqual([text, false]);
    const regex = partOf('regex', '^\\d{2}\\n"|é$');
    for (const text of ['12\n"', 'é']) expect([text, accepts(regex, JSON.stringify(text))]).toEqual([text, true]);
    for (const text of ['1\n"', '12\n"é', '']) expect(accepts(regex, JSON.stringify(text))).toBe(false);
    const classes = partOf('regex', '[^\\]\\[]+[&\\-]');
    for (const text of ['a&', '^-']) expect([text, accepts(classes, JSON.stringify(text))]).toEqual([text, true]);
    for (const text of ['a]', '[&', 'a^']) expect(accepts(classes, JSON.stringify(text))).toBe(false);
  });

  it('is refused in the name of its field and as what it is', () => {
    const refused = (syntax: 'regex' | 'lark', definition: string): unknown => {
      try {
        return partOf(syntax, definition);
      } catch (error) {
        return error;
      }
    };
    expect(refused('lark', 'start: "a" start')).toMatchObject({
      param: 'p',
      subject: 'grammar',
      reason: 'no text matches it',
    });
    expect(refused('lark', 'start: a')).toMatchObject({ param: 'p', subject: 'grammar', pointer: 'line 1' });
    expect(refused('regex', '(a')).toMatchObject({ param: 'p', subject: 'pattern' });
    const reason = expect.stringContaining('at the start of a class');
    expect(refused('regex', '[^]]+')).toMatchObject({ param: 'p', subject: 'pattern', reason });
    expect(refused('regex', '\\<a')).toMatchObject({ reason: expect.stringContaining('the edge of a word') });
  });
});
