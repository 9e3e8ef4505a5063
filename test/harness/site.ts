/** Where the processes of a platform and its stores run, and how they are reached. Names are `api`, `worker-2`, `redis`… */
export interface Site {
  /** The command that starts `command` at the place of a process; the process it starts must be the command's own. */
  command(name: string, command: string[]): string[];
  /** Address at which the others, and the test, reach a process. */
  address(name: string): string;
}

/** All of them on the loopback of this machine. */
export const thisMachine: Site = { command: (_name, command) => command, address: () => '127.0.0.1' };
