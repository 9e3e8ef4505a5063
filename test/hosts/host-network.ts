import { execFileSync } from 'node:child_process';
import type { Site } from '#test/site';

/*
 * Several hosts on one machine: each is a network namespace with an address of its own, connected to one switch, also a
 * namespace. The test is connected to one port of the switch. Nothing is routed outside, and everything is deleted with
 * the namespaces. Requires root and `ip` of iproute2.
 */

/** Runs `ip` with the words of a line. */
function ip(line: string): void {
  execFileSync('ip', line.split(' '), { stdio: ['ignore', 'ignore', 'pipe'] });
}

export class HostNetwork implements Site {
  private readonly prefix = `sluice-${process.pid}`;
  private readonly subnet = `10.231.${process.pid % 250}`;
  private readonly switch = `${this.prefix}-switch`;
  /** The test's end of the link; the system limits the length of its name. */
  private readonly ownPort = `sl${process.pid}`;
  private readonly hosts: string[] = [];

  private constructor() {}

  /** Connects the hosts and brings all links up. */
  static open(hosts: readonly string[]): HostNetwork {
    const network = new HostNetwork();
    try {
      network.cable(hosts);
    } catch (error) {
      network.close();
      throw error;
    }
    return network;
  }

  command(name: string, command: string[]): string[] {
    return ['ip', 'netns', 'exec', this.namespaceOf(name), ...command];
  }

  address(name: string): string {
    return `${this.subnet}.${10 + this.portOf(name)}`;
  }

  /** Takes the link down: nothing passes, and no connection is notified. */
  cut(name: string): void {
    ip(`-n ${this.switch} link set port${this.portOf(name)} down`);
  }

  /** Brings the link up again. */
  restore(name: string): void {
    ip(`-n ${this.switch} link set port${this.portOf(name)} up`);
  }

  close(): void {
    for (const name of [...this.hosts.map((host) => this.namespaceOf(host)), this.switch]) {
      try {
        ip(`netns del ${name}`);
      } catch {
        // It was never created.
      }
    }
  }

  private cable(hosts: readonly string[]): void {
    ip(`netns add ${this.switch}`);
    ip(`-n ${this.switch} link add br0 type bridge`);
    ip(`-n ${this.switch} link set br0 up`);
    ip(`link add ${this.ownPort} type veth peer name test netns ${this.switch}`);
    ip(`-n ${this.switch} link set test master br0 up`);
    ip(`addr add ${this.subnet}.1/24 dev ${this.ownPort}`);
    ip(`link set ${this.ownPort} up`);
    for (const host of hosts) {
      this.hosts.push(host);
      const namespace = this.namespaceOf(host);
      const port = `port${this.portOf(host)}`;
      ip(`netns add ${namespace}`);
      ip(`-n ${namespace} link set lo up`);
      ip(`-n ${this.switch} link add ${port} type veth peer name eth0 netns ${namespace}`);
      ip(`-n ${this.switch} link set ${port} master br0 up`);
      ip(`-n ${namespace} addr add ${this.address(host)}/24 dev eth0`);
      ip(`-n ${namespace} link set eth0 up`);
    }
  }

  private namespaceOf(host: string): string {
    this.portOf(host);
    return `${this.prefix}-${host}`;
  }

  private portOf(host: string): number {
    const port = this.hosts.indexOf(host);
    if (port < 0) throw new Error(`there is no host ${host}`);
    return port;
  }
}
