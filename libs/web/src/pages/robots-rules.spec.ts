import { describe, expect, it } from 'vitest';
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

  it('compares hostile patterns quickly', () => {
    const rule = `User-agent: *\nDisallow: /${'*a'.repeat(900)}$`;
    expect(allows(rule, `/${'a'.repeat(800)}b`)).toBe(true);
  });
});
