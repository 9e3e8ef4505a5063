import { describe, expect, it } from 'vitest';
import { leastProcessorMs } from '#test/processor-time';
import { RobotsRules } from './robots-rules.js';

const allows = (text: string, path: string): boolean =>
  RobotsRules.parse(text, 'sluice').allows(new URL(path, 'https://example.org').href);

describe('robots.txt', () => {
  it('allows everything that no rule names', () => {
    for (const text of ['', '<html></html>', 'Disallow: /', 'User-agent: other\nDisallow: /']) {
      expect(allows(text, '/a')).toBe(true);
    }
    expect(allows('User-agent: *\nDisallow:', '/a')).toBe(true);
  });

  it('prefers the group that names the agent', () => {
    const text = 'User-agent: *\nDisallow: /\n\nuser-agent: other\nUser-Agent: Sluice # ours\nDisallow: /private\n';
    expect([allows(text, '/a'), allows(text, '/private/b')]).toEqual([true, false]);
    expect(allows('User-agent: *\nDisallow: /', '/')).toBe(false);
  });

  it('lets the longest rule decide, and of two equal ones the permission', () => {
    const text = 'User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /c\nAllow: /c';
    expect(['/a/x', '/a/b/x', '/c'].map((path) => allows(text, path))).toEqual([false, true, true]);
  });

  it.each([
    ['/*.pdf$', '/x/y.pdf', false],
    ['/*.pdf$', '/x/y.pdf?z', true],
    ['/a*b*c', '/a1b2', true],
    ['/a*b*c', '/a1b2c3', false],
    ['/a$', '/a', false],
    ['/a$', '/ab', true],
    ['/*?session=', '/x?session=1', false],
  ])('compares %s with %s', (rule, path, allowed) => {
    expect(allows(`User-agent: *\nDisallow: ${rule}`, path)).toBe(allowed);
  });

  it('reads values behind blanks and before comments, and no line without a colon', () => {
    const text = ' USER-AGENT :\t* # all\n  disallow  :  /a b  # comment: x\nDisallow #: /c\nDisallow: /d#e\n: /f';
    const paths = ['/a%20b', '/c', '/d', '/f'];
    expect(paths.map((path) => allows(text, path))).toEqual([true, true, false, true]);
    expect(allows('User-agent: *\nDisallow: /a:b', '/a:b')).toBe(false);
  });

  it.each([' ', '\t', ': ', 'a:', '#', '-', '\u00a0'])('reads lines of %j and a line separator quickly', (unit) => {
    const line = `${unit.repeat(2_000 / unit.length)}#\u2028${unit.repeat(20)}`;
    // One such line of blanks took several seconds.
    expect(
      leastProcessorMs(1_500, () => allows(`${`a:${line}\n`.repeat(128)}${`${line}\n`.repeat(128)}`, '/a')),
    ).toBeLessThan(1_500);
  });

  it('compares long rules and addresses that almost match quickly', () => {
    const rules = ['a', 'ab'].flatMap((unit) =>
      Array.from({ length: 120 }, () => `Disallow: /*${unit.repeat(2_000 / unit.length)}c`),
    );
    const text = ['User-agent: *', ...rules].join('\n');
    expect(leastProcessorMs(1_500, () => allows(text, `/${'a'.repeat(8_000)}`))).toBeLessThan(1_500);
    const backwards = ['User-agent: *', ...Array.from({ length: 240 }, () => `Disallow: /*c${'a'.repeat(2_000)}`)].join(
      '\n',
    );
    expect(leastProcessorMs(1_500, () => allows(backwards, `/${'a'.repeat(8_000)}`))).toBeLessThan(1_500);
  });

  it('compares hostile patterns quickly', () => {
    const rule = `User-agent: *\nDisallow: /${'*a'.repeat(900)}$`;
    expect(allows(rule, `/${'a'.repeat(800)}b`)).toBe(true);
  });
});
