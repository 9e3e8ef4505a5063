import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { copyAs } from './copy-as.js';

const hostile = 'it\'s "quoted" $HOME `id` \\ \n\u2028 🙂 %s {braces}';
const body = {
  model: 'tiny',
  messages: [{ role: 'user', content: hostile }],
  temperature: 0,
  stop: [],
  metadata: {},
  stream: true,
  parallel: false,
  none: null,
};
const request = { baseUrl: 'http://localhost:3000/a/b/api/v1', route: 'chat/completions', body };

describe('a request as a program', () => {
  it('for curl reaches the service unchanged, whatever the text holds', () => {
    const script = `curl() { printf '%s\\0' "$@"; }\n${copyAs('curl', request)}`;
    const output = execFileSync('sh', ['-c', script], { env: { SLUICE_API_KEY: 'slk_test' }, encoding: 'utf8' });
    const words = output.split('\0').slice(0, -1);
    expect(words.slice(0, 4)).toEqual([
      '-N',
      `${request.baseUrl}/chat/completions`,
      '-H',
      'Authorization: Bearer slk_test',
    ]);
    expect(JSON.parse(words.at(-1) ?? '')).toEqual(body);
  });

  it('for JavaScript is a module that posts the same body', () => {
    const program = copyAs('javascript', request);
    const literal = /\{ body: ([^]*), stream: true \}\);/.exec(program)?.[1] ?? '';
    expect(JSON.parse(literal)).toEqual(body);
    expect(program).toContain('process.env.SLUICE_API_KEY');
    expect(program).toContain('for await (const chunk of response)');
  });

  it('for Python has values of Python', () => {
    const program = copyAs('python', request);
    expect(program).toContain('"stream": True,');
    expect(program).toContain('"parallel": False,');
    expect(program).toContain('"none": None,');
    expect(program).toContain(`"content": ${JSON.stringify(hostile)},`);
    expect(program).toContain('"stop": [],');
    expect(program).toContain('for line in response:');
  });

  it('without a stream prints the whole response', () => {
    const whole = { ...request, body: { model: 'tiny', input: 'a' } };
    expect(copyAs('curl', whole)).not.toContain(' -N');
    expect(copyAs('javascript', whole)).toContain('console.log(response);');
    expect(copyAs('python', whole)).toContain('print(json.load(response))');
  });

  it.each(['curl', 'javascript', 'python'] as const)('for %s holds no key', (language) => {
    expect(copyAs(language, request)).not.toMatch(/slk_/);
    expect(copyAs(language, request)).toContain('SLUICE_API_KEY');
  });
});
