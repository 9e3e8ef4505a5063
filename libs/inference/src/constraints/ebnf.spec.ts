import { describe, expect, it } from 'vitest';
import { Automaton } from './automaton.js';
import { compileEbnf } from './ebnf.js';
import { ConstraintRefusal } from './refusal.js';
import { accepts } from './schema-automaton.js';

function automatonOf(source: string): Automaton {
  const work = compileEbnf(source);
  for (;;) {
    const step = work.next();
    if (step.done) return Automaton.of(step.value.grammar, step.value.start);
  }
}

describe('compileEbnf', () => {
  it.each([
    ['root ::= "yes" | "no"', ['yes', 'no'], ['', 'yesno', 'YES']],
    ['root ::= [a-c]+ "!"?', ['a', 'abc!', 'cc'], ['!', 'abd', 'a!!']],
    ['root ::= [^a-c\\]] .', ['d😀', 'éa'], ['ab', ']x', 'd']],
    ['root ::= "\\x41\\u00e9\\n" [0-9]{2,3}', ['Aé\n12', 'Aé\n123'], ['Aé\n1', 'Aé\n1234']],
    [
      '# arithmetic\nroot ::= term (("+" | "-") term)*\nterm ::= number | "(" root ")"\nnumber ::= "0"\n  | [1-9] [0-9]*',
      ['1+20', '(1-(2+3))-4', '0'],
      ['1+', '(1', '01', '()'],
    ],
    ['root ::= "a" root "b" | ""', ['', 'ab', 'aaabbb'], ['aab', 'ba']],
    ['root ::= item{1,3}\nitem ::= "z"?', ['', 'z', 'zzz'], ['zzzz']],
    ['root ::= (a | b)* "."\na ::= "1"?\nb ::= "2"', ['.', '12.', '2211.'], ['3.', '12']],
  ])('reads %j', (source, members, others) => {
    const automaton = automatonOf(source);
    for (const text of members) expect([text, accepts(automaton, text)]).toEqual([text, true]);
    for (const text of others) expect([text, accepts(automaton, text)]).toEqual([text, false]);
  });

  it.each([
    ['start ::= "a"', 'there is no rule named root'],
    ['root ::= a', 'the rule a: is used and not defined'],
    ['root ::= "a"\nroot ::= "b"', 'line 2: the rule root is defined twice'],
    ['root ::= root "a" | "a"', 'the rule root: begins with itself (left recursion)'],
    ['root ::= a root\na ::= "x"?', 'the rule root: begins with itself (left recursion)'],
    ['root ::= "a" root', 'no text matches it'],
    ['root ::= ("a"', 'line 1: an opened ( is not closed'],
    ['root ::= "a', 'line 1: expected " before the end of the line'],
    ['root ::= [a', 'line 1: expected ] before the end of the line'],
    ['root ::= [b-a]', 'line 1: a range of characters is out of order'],
    ['root ::= "\\q"', 'line 1: unknown escape \\q'],
    ['root ::= "a"{3,2}', 'line 1: a repetition is out of order'],
    ['root ::= a{2000}\na ::= "x"', 'line 1: repeats more than 1000 times, which is not supported here'],
    ['root = "a"', 'line 1: expected a rule: name ::= …'],
    [`root ::= ${'('.repeat(300)}`, 'line 1: is nested too deeply'],
    ['root ::= a )', 'line 1: expected a rule: name ::= …'],
  ])('refuses %j by its place', (source, message) => {
    expect(() => automatonOf(source)).toThrow(ConstraintRefusal);
    expect(() => automatonOf(source)).toThrow(message);
  });
});
