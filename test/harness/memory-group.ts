import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The first version of control groups has a tree for each resource. */
const version1 = '/sys/fs/cgroup/memory';
const [tree, limit] = existsSync(version1) ? [version1, 'memory.limit_in_bytes'] : ['/sys/fs/cgroup', 'memory.max'];

/** A control group with little memory, as that of a container. Only root can make one, and not in every container. */
export class MemoryGroup {
  private constructor(private readonly folder: string) {}

  static create(name: string, bytes: number): MemoryGroup {
    const folder = join(tree, name);
    mkdirSync(folder);
    const group = new MemoryGroup(folder);
    try {
      // Where there are no control groups, this would create a plain file.
      writeFileSync(join(folder, limit), String(bytes), { flag: 'r+' });
      return group;
    } catch (error) {
      group.remove();
      throw error;
    }
  }

  /** Whether groups can be made here. */
  static isPossible(): boolean {
    try {
      MemoryGroup.create(`sluice-probe-${process.pid}`, 1e9).remove();
      return true;
    } catch {
      return false;
    }
  }

  /** A command of a shell, which moves it and what it starts into the group. */
  get entry(): string {
    return `echo $$ > '${join(this.folder, 'cgroup.procs')}'; `;
  }

  /** Needs the group to be empty. */
  remove(): void {
    rmdirSync(this.folder);
  }
}
