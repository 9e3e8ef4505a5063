/** Where the processes of a platform and its stores run, and how they are reached. Names are `api`, `worker-2`, `redis`… */
export interface Site {
  /**
   * Returns the command that runs `command` at the location of a process; the started process must be that of the
   * command itself.
   */
  command(name: string, command: string[]): string[];
  /** Address at which other processes and the test reach a process. */
  address(name: string): string;
}

/** Everything on the loopback of this machine. */
export const thisMachine: Site = { command: (_name, command) => command, address: () => '127.0.0.1' };
