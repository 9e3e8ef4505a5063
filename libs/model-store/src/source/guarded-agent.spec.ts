import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchWebText } from './web-request.js';

describe('a source that an operator names from a browser', () => {
  let server: Server;
  let port: number;
  let requests = 0;
  beforeAll(async () => {
    server = createServer((request, response) => {
      requests += 1;
      if (request.url === '/there') return void response.end('the file');
      response.writeHead(302, { location: `http://127.0.0.1:${port}/there` }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => server.close());

  const read = (url: string, mayReach?: (address: string) => boolean) =>
    fetchWebText({ url: new URL(url), ...(mayReach && { mayReach }) });

  it('is read from an address that may be reached, by name or number', async () => {
    for (const host of ['127.0.0.1', 'localhost']) {
      const { text } = await read(`http://${host}:${port}/there`, (address) => address.startsWith('127.'));
      expect(text).toBe('the file');
    }
  });

  it('is not read from others: by number, by name, or behind a redirect', async () => {
    const before = requests;
    const never = () => false;
    await expect(read(`http://127.0.0.1:${port}/there`, never)).rejects.toThrow('127.0.0.1 leads to an address');
    await expect(read(`http://localhost:${port}/there`, never)).rejects.toThrow('localhost leads to an address');
    expect(requests).toBe(before);
    const addresses: string[] = [];
    const once = (address: string) => addresses.push(address) === 1;
    await expect(read(`http://127.0.0.1:${port}/`, once)).rejects.toThrow('leads to an address that is not public');
    expect(requests).toBe(before + 1);
  });

  it('is not read when one of several addresses of a name may not be reached', async () => {
    await expect(read(`http://localhost:${port}/there`, (address) => address === '203.0.113.1')).rejects.toThrow(
      'leads to an address that is not public',
    );
  });

  it('is read from everywhere by the command line', async () => {
    expect(await read(`http://127.0.0.1:${port}/`)).toEqual({ statusCode: 200, text: 'the file' });
  });
});
