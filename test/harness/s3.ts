import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { StorageSettings } from '#storage';
import { signatureFault } from './s3-signature.js';

/**
 * An object storage server in a process of its own, with one bucket, on this machine. Rejects requests without a valid
 * signature.
 */
export interface TestS3 {
  /** Options for `createArtifactStore`. */
  storage: StorageSettings;
  /** The same as environment variables of the platform's processes. */
  environment: Record<string, string>;
  close(): Promise<void>;
}

/** The only keys it accepts. */
const keys = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
const bucket = 'sluice-test';

export async function startS3(): Promise<TestS3> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-s3-'));
  const program = join(dirname(createRequire(import.meta.url).resolve('s3rver/package.json')), 'bin/s3rver.js');
  const args = [program, '-d', folder, '-a', '127.0.0.1', '-p', '0', '--configure-bucket', bucket];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  let port = '';
  for await (const line of createInterface({ input: child.stdout })) {
    [, port = ''] = /listening on \S+:(\d+)/.exec(line) ?? [];
    if (port !== '') break;
  }
  if (port === '') throw new Error('the object storage server did not start');
  child.stdout.resume();
  const proxy = await openSignatureProxy(Number(port));
  const endpoint = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const url = `s3://${bucket}/media`;
  return {
    storage: { home: folder, url, s3: { ...keys, endpoint, region: 'us-east-1', pathStyle: true } },
    environment: {
      SLUICE_STORAGE_URL: url,
      SLUICE_S3_ENDPOINT: endpoint,
      SLUICE_S3_ACCESS_KEY_ID: keys.accessKeyId,
      SLUICE_S3_SECRET_ACCESS_KEY: keys.secretAccessKey,
      SLUICE_S3_PATH_STYLE: 'true',
    },
    close: async () => {
      proxy.closeAllConnections();
      proxy.close();
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The server behind it accepts any version 4 signature; this proxy verifies it. */
async function openSignatureProxy(port: number): Promise<Server> {
  const proxy = createServer((incoming, outgoing) => {
    const fault = signatureFault(incoming, keys);
    if (fault !== null) {
      incoming.resume();
      const body = `<?xml version="1.0"?><Error><Code>SignatureDoesNotMatch</Code><Message>${fault}</Message></Error>`;
      outgoing.writeHead(403, { 'content-type': 'application/xml' }).end(body);
      return;
    }
    const { method, url, headers } = incoming;
    const passed = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on('error', () => outgoing.destroy()).pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return proxy;
}
