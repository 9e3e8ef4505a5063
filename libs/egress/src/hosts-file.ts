import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { HostAddress } from './resolve-address.js';

const maxBytes = 4 * 1024 * 1024;
/** How long a look at the file is trusted, in ms. */
const trustedMs = 2_000;

/** The hosts file of the machine, which containers and operators write addresses of their own names to. */
export class HostsFile {
  private addresses: ReadonlyMap<string, readonly HostAddress[]> = new Map();
  private version = '';
  private lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly path = '/etc/hosts') {}

  /** Returns the addresses of a name in lower case; none where the file has no such name, or cannot be read. */
  async find(name: string): Promise<HostAddress[]> {
    if (performance.now() - this.lookedAtMs > trustedMs) {
      this.lookedAtMs = performance.now();
      await this.refresh();
    }
    return [...(this.addresses.get(name) ?? [])];
  }

  private async refresh(): Promise<void> {
    try {
      const { mtimeMs, size, ino } = await stat(this.path);
      const version = `${mtimeMs} ${size} ${ino}`;
      if (version === this.version || size > maxBytes) return;
      this.addresses = parseHosts(await readFile(this.path, 'utf8'));
      this.version = version;
    } catch {
      // Machines without the file have no names of their own.
      this.addresses = new Map();
      this.version = '';
    }
  }
}

function parseHosts(text: string): Map<string, HostAddress[]> {
  const addresses = new Map<string, HostAddress[]>();
  for (const line of text.split('\n')) {
    const [written = ''] = line.split('#', 1);
    const [address = '', ...names] = written.trim().split(/\s+/);
    const family = isIP(address);
    if (family !== 4 && family !== 6) continue;
    for (const name of names.map((text) => text.toLowerCase())) {
      addresses.set(name, [...(addresses.get(name) ?? []), { address, family }]);
    }
  }
  return addresses;
}
