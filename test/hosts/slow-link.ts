import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { endProcess } from '#test/end-process';
import { freePort } from '#test/free-port';
import type { HostNetwork } from './host-network.js';

const entry = fileURLToPath(new URL('../../dist/test/harness/slow-link-main.js', import.meta.url));

/** A host between others: connections through it instead of its target are slow. */
export class SlowLink {
  private constructor(
    private readonly child: ChildProcess,
    readonly address: { host: string; port: number },
  ) {}

  static async open(
    network: HostNetwork,
    { name, target }: { name: string; target: { host: string; port: number } },
  ): Promise<SlowLink> {
    const address = { host: network.address(name), port: await freePort() };
    const ends = [address.host, address.port, target.host, target.port].map(String);
    const [command = '', ...args] = network.command(name, [process.execPath, entry, ...ends]);
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    return new SlowLink(child, address);
  }

  /** Sets the delay in ms in both directions. */
  delay(ms: number): void {
    this.child.stdin?.write(`${ms}\n`);
  }

  async close(): Promise<void> {
    await endProcess(this.child);
  }
}
