import { execFile } from 'node:child_process';
import { access, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { promisify } from 'node:util';

/** What readers of evidence use of a machine. Tests replace it by one that behaves like the kernel's files. */
export interface Machine {
  exists(path: string): Promise<boolean>;
  readFile(path: string): Promise<Uint8Array>;
  writeFile(path: string, bytes: Uint8Array): Promise<void>;
  makeFolder(path: string): Promise<void>;
  removeFolder(path: string): Promise<void>;
  /** Posts JSON over a Unix socket; resolves with the JSON of the response. */
  post(call: { socket: string; path: string; body: object }): Promise<unknown>;
  /** Runs a program of the machine; resolves with what it prints. */
  run(program: string, parameters: readonly string[]): Promise<string>;
}

/** How long a device, a socket or a program may take, in ms. */
const timeoutMs = 20_000;

/** Longest answer of a socket or a program, in bytes. */
const maxBytes = 4 * 1024 * 1024;

const execute = promisify(execFile);

/** The machine that this process runs on. */
export const localMachine: Machine = {
  exists: (path) =>
    access(path).then(
      () => true,
      () => false,
    ),
  readFile,
  writeFile,
  makeFolder: (path) => mkdir(path),
  removeFolder: rmdir,
  post: ({ socket, path, body }) => post(socket, path, JSON.stringify(body)),
  run: async (program, parameters) => {
    const { stdout } = await execute(program, [...parameters], { timeout: timeoutMs, maxBuffer: maxBytes });
    return stdout;
  },
};

async function post(socketPath: string, path: string, body: string): Promise<unknown> {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  return await new Promise((resolve, reject) => {
    const call = request({ socketPath, path, method: 'POST', headers, timeout: timeoutMs }, (response) => {
      const parts: Buffer[] = [];
      let length = 0;
      response.on('data', (part: Buffer) => {
        length += part.length;
        if (length > maxBytes) call.destroy(new Error('the answer is too long'));
        else parts.push(part);
      });
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode !== 200) return reject(new Error(`status ${response.statusCode}`));
        try {
          resolve(JSON.parse(Buffer.concat(parts).toString('utf8')));
        } catch (error) {
          reject(error as Error);
        }
      });
    });
    call.on('timeout', () => call.destroy(new Error('no answer in time')));
    call.on('error', reject);
    call.end(body);
  });
}
