/** Output streams of this process that already have the listener. */
const guarded = new WeakSet<NodeJS.WritableStream>();

/**
 * Lets the process go on when stdout or stderr cannot be written: their reader has ended (`npm start | head`), the
 * terminal is gone, or the disk of the log file is full. What is written then is lost. Every `main.ts` calls it first.
 */
export function surviveLostOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    if (guarded.has(stream)) continue;
    guarded.add(stream);
    stream.on('error', () => undefined);
  }
}
