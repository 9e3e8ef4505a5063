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
import { isAllowed, mayList, type S3Policy } from './s3-policy.js';
import { type S3Keys, signatureFault } from './s3-signature.js';

/**
 * An object storage server in a process of its own, with one bucket, on this machine. Rejects requests without a valid
 * signature.
 */
export interface TestS3 {
  /** Options for `createArtifactStore`. */
  storage: StorageSettings;
  /** The same as environment variables of the platform's processes. */
  environment: Record<string, string>;
  /** Creates a user that may do what the policy says; returns its options for `createArtifactStore`. */
  addUser(policy: S3Policy): StorageSettings;
  close(): Promise<void>;
}

interface S3User extends S3Keys {
  /** Null: may do everything. */
  policy: S3Policy | null;
}

/** Those of the server behind the proxy. */
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
  const users = new Map<string, S3User>([[keys.accessKeyId, { ...keys, policy: null }]]);
  const proxy = await openSignatureProxy(Number(port), users);
  const endpoint = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const url = `s3://${bucket}/media`;
  const settings = (given: S3Keys): StorageSettings => ({
    ...{ home: folder, url },
    s3: { ...given, endpoint, region: 'us-east-1', pathStyle: true },
  });
  return {
    storage: settings(keys),
    addUser: (policy) => {
      const user = { accessKeyId: `USER${users.size}`, secretAccessKey: `secret of ${users.size}` };
      users.set(user.accessKeyId, { ...user, policy });
      return settings(user);
    },
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

/** The server behind it accepts any version 4 signature of its key; this proxy verifies it, and the policy of its user. */
async function openSignatureProxy(port: number, users: ReadonlyMap<string, S3User>): Promise<Server> {
  const proxy = createServer((incoming, outgoing) => {
    const [, accessKeyId = ''] = /Credential=([^/]+)\//.exec(incoming.headers.authorization ?? '') ?? [];
    const user = users.get(accessKeyId);
    const refuse = (code: string, message: string) => {
      incoming.resume();
      const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`;
      outgoing.writeHead(403, { 'content-type': 'application/xml' }).end(body);
    };
    const fault = user === undefined ? 'the key is unknown' : signatureFault(incoming, user);
    if (fault !== null) return refuse('SignatureDoesNotMatch', fault);
    if (user?.policy && !isAllowed(user.policy, incoming)) return refuse('AccessDenied', 'Access Denied');
    const authorization = incoming.headers.authorization?.replace(accessKeyId, keys.accessKeyId);
    const { method, url } = incoming;
    const headers = { ...incoming.headers, authorization };
    const passed = request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
      // Only who may list the bucket learns that an object does not exist.
      if (answer.statusCode === 404 && user?.policy && !mayList(user.policy, bucket)) {
        answer.resume();
        return refuse('AccessDenied', 'Access Denied');
      }
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
