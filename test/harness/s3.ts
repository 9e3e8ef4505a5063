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

/** A server of object storage in a process of its own, with one bucket, on this machine. It refuses what is not signed rightly. */
export interface TestS3 {
  /** As `createArtifactStore` takes them. */
  storage: StorageSettings;
  /** The same for processes of the platform. */
  environment: Record<string, string>;
  close(): Promise<void>;
}

/** The only keys it knows. */
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
  if (port === '') throw new Error('the server of object storage did not start');
  child.stdout.resume();
  const door = await openDoor(Number(port));
  const endpoint = `http://127.0.0.1:${(door.address() as AddressInfo).port}`;
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
      door.closeAllConnections();
      door.close();
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The server behind it takes every signature of version 4; who comes through this door has signed rightly. */
async function openDoor(port: number): Promise<Server> {
  const door = createServer((incoming, outgoing) => {
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
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
  return door;
}
