import { createServer } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { pullError } from './pull-error.js';
import { fetchWebText } from './web-request.js';

/** A port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('a failed pull', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('names the proxy that does not answer, without its password, and how to avoid it', async () => {
    const host = `127.0.0.1:${await closedPort()}`;
    vi.stubEnv('HTTPS_PROXY', `http://me:secret@${host}`);
    const failure: unknown = await fetchWebText({ url: new URL('https://hub.invalid/model') }).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(Error);
    const { message } = pullError('The hub did not answer.', failure);
    expect(message).toBe(
      `The hub did not answer. HTTPS_PROXY sends requests through ${host}: correct or unset it, or name hosts to reach ` +
        'directly in NO_PROXY.',
    );
  });

  it('says that the variable is not a URL', () => {
    vi.stubEnv('HTTPS_PROXY', '');
    vi.stubEnv('https_proxy', 'proxy');
    expect(pullError('The hub did not answer: Invalid URL.', new TypeError('Invalid URL')).message).toMatch(
      /Invalid URL\. https_proxy is not a URL such as http/,
    );
  });

  it('blames no proxy for a wrong file, or where there is none', () => {
    vi.stubEnv('HTTPS_PROXY', 'http://127.0.0.1:3128');
    expect(pullError('Wrong hash.', new Error('other bytes')).message).toBe('Wrong hash.');
    for (const name of ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy']) vi.stubEnv(name, '');
    const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    expect(pullError('No answer.', refused).message).toBe('No answer.');
  });
});
