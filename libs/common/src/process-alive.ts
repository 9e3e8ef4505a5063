/** True when a process with this id exists on this machine, also one of another user. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists but may not be signalled.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
