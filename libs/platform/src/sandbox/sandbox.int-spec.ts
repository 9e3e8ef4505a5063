import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { mebibyte } from '#common/values';
import type { ResourceLimits } from './resource-limits.js';
import { Sandbox } from './sandbox.js';

const generous: ResourceLimits = { memoryBytes: 2 ** 30, cpuSeconds: 60, fileBytes: mebibyte, openFiles: 256 };

interface End {
  code: number | null;
  signal: NodeJS.Signals | null;
  output: string;
}

describe.runIf(process.platform === 'linux')('Sandbox', () => {
  let sandbox: Sandbox;

  beforeAll(async () => {
    sandbox = await Sandbox.find();
  });

  /** Runs a script of Node within limits. */
  async function run(script: string, limits: Partial<ResourceLimits> = {}, within = sandbox): Promise<End> {
    const command = { program: process.execPath, args: ['--input-type=module', '--eval', script] };
    const { program, args } = within.command(command, { ...generous, ...limits });
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const [output, [code, signal]] = await Promise.all([child.stdout.toArray(), once(child, 'close')]);
    return {
      code: code as number,
      signal: signal as NodeJS.Signals,
      output: Buffer.concat(output as Buffer[]).toString(),
    };
  }

  it('passes arguments as they are, and keeps the process id', async () => {
    const words = ['a b', '$HOME', "'", '', '-c'];
    const script = 'console.log(JSON.stringify([process.pid, ...process.argv.slice(1)]))';
    const command = { program: process.execPath, args: ['--eval', script, '--', ...words] };
    const { program, args } = sandbox.command(command, generous);
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const output = Buffer.concat((await child.stdout.toArray()) as Buffer[]).toString();
    expect(JSON.parse(output)).toEqual([child.pid, ...words]);
  });

  it('runs a program within all limits of the kernel', async () => {
    const script = "console.log((await import('node:fs')).readFileSync('/proc/self/limits', 'latin1'))";
    const { output } = await run(script);
    const soft = (name: string): string | undefined => new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(output)?.[1];
    expect(soft('Max data size')).toBe(String(2 ** 30));
    expect(soft('Max cpu time')).toBe('60');
    expect(soft('Max file size')).toBe(String(mebibyte));
    expect(soft('Max open files')).toBe('256');
    expect(soft('Max core file size')).toBe('0');
  });

  it('gives a program no more memory than its limit', async () => {
    const script = 'for (const parts = [];;) parts.push(Buffer.alloc(16 * 2 ** 20, 1));';
    const { code, signal } = await run(script, { memoryBytes: 256 * mebibyte });
    expect(code === 0).toBe(false);
    expect(signal).not.toBe('SIGKILL');
  });

  it('ends a program at its processor time with a signal of its own', async () => {
    expect(await run('for (;;);', { cpuSeconds: 1 })).toMatchObject({ signal: 'SIGXCPU' });
  });

  it('lets a program write no file', async () => {
    const path = join(tmpdir(), `sluice-sandbox-${process.pid}`);
    const script = `(await import('node:fs')).writeFileSync(${JSON.stringify(path)}, 'x')`;
    const { code } = await run(script, { fileBytes: 0 });
    expect(code).not.toBe(0);
    expect(await readFile(path, 'utf8').catch(() => '')).toBe('');
    await rm(path, { force: true });
  });

  it('says when the program cannot be started', async () => {
    const { program, args } = sandbox.command({ program: '/no/such/program', args: [] }, generous);
    const [code] = (await once(spawn(program, args, { stdio: 'ignore' }), 'exit')) as [number];
    expect(code).toBe(127);
  });

  it('gives a program no network, not even this machine', async (context) => {
    if (!sandbox.hasNetworkNamespace) return context.skip();
    const server = createServer((socket) => socket.end('reached'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const script = `
      const { connect } = await import('node:net');
      const socket = connect(${port}, '127.0.0.1');
      socket.on('data', (part) => process.stdout.write(part));
      socket.on('error', (error) => process.stdout.write(error.code));`;
    expect((await run(script, {}, Sandbox.none)).output).toBe('reached');
    expect((await run(script)).output).toBe('ENETUNREACH');
    server.close();
  });

  it('runs a program without limits where the machine offers none', async () => {
    expect(Sandbox.none.missing).toContain('a network namespace');
    expect(await run('process.stdout.write("ran")', {}, Sandbox.none)).toMatchObject({ code: 0, output: 'ran' });
  });
});
