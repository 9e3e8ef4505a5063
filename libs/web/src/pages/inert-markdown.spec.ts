import { expect, it } from 'vitest';
import { inertMarkdown } from './inert-markdown.js';

it.each([
  ['a <iframe src="file:///etc/passwd"></iframe> b', 'a \\<iframe src="file:///etc/passwd">\\</iframe> b'],
  ['<SCRIPT>x</SCRIPT>', '\\<SCRIPT>x\\</SCRIPT>'],
  ['<formal> <table><tr><td>1</td></tr></table> 1 < 2', '<formal> <table><tr><td>1</td></tr></table> 1 < 2'],
  ['[a](javascript:alert(1)) [b]( <JavaScript:x>)', '[a](#javascript:alert(1)) [b]( <#JavaScript:x>)'],
  ['[a]: vbscript:x\n[b](data:text/html,x)', '[a]: #vbscript:x\n[b](#data:text/html,x)'],
  ['![a](data:image/png;base64,AA) [b](https://a.example/javascript:)', null],
])('makes %j harmless', (text, inert) => {
  expect(inertMarkdown(text)).toBe(inert ?? text);
});
