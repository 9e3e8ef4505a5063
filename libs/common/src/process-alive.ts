/** Whether a process of this machine has that id, also one that belongs to somebody else. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, and may not be signalled from here.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
