/** What the kernel allows one process. Reaching a limit ends the process or fails its call. */
export interface ResourceLimits {
  /**
   * Private memory that it may write. Addresses are not limited: V8 and the C library reserve many times the memory
   * that they use.
   */
  memoryBytes: number;
  /** Processor time of all its threads; a signal that the process can tell apart from others ends it. */
  cpuSeconds: number;
  /** Largest file that it may write. 0: pipes only. */
  fileBytes: number;
  openFiles: number;
}

/** Time between the signal that ends a process for its processor time and the one that it cannot catch. */
const graceSeconds = 2;
const blockBytes = 512;
const kibibyte = 1024;

/** The limits as commands of a POSIX shell, by what they limit. */
export function limitCommands(limits: ResourceLimits): Record<string, string> {
  const { memoryBytes, cpuSeconds, fileBytes, openFiles } = limits;
  const seconds = Math.max(1, Math.ceil(cpuSeconds));
  return {
    memory: `ulimit -d ${Math.ceil(memoryBytes / kibibyte)}`,
    'processor time': `ulimit -S -t ${seconds} && ulimit -H -t ${seconds + graceSeconds}`,
    'file size': `ulimit -f ${Math.ceil(fileBytes / blockBytes)}`,
    'open files': `ulimit -n ${openFiles}`,
    'core dumps': 'ulimit -c 0',
  };
}
