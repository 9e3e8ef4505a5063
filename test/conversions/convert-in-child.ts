import { fork } from 'node:child_process';
import { once } from 'node:events';
import { runSourceArguments, sourcePath } from '#test/source-program';
import type { ConversionOrder, ConversionReport } from './conversion.main.js';

export interface ChildConversion {
  /** Largest resident memory of the process; null if it was killed. */
  peakBytes: number | null;
  /** Bytes that were written when the conversion began, from an earlier run. */
  begunAt: number;
}

/**
 * Converts in a process of its own, so that its memory is that of the conversion. `killAt` is asked at each progress, and
 * whether it returns true, the process is killed.
 */
export async function convertInChild(
  order: ConversionOrder,
  killAt: (done: number, total: number) => boolean = () => false,
): Promise<ChildConversion> {
  const child = fork(sourcePath('test/conversions/conversion.main.ts'), [], { execArgv: runSourceArguments });
  const result: ChildConversion = { peakBytes: null, begunAt: -1 };
  let failure: string | null = null;
  child.on('message', (report: ConversionReport) => {
    if (report.type === 'done') result.peakBytes = report.peakBytes;
    else if (report.type === 'failed') failure = report.message;
    else {
      if (result.begunAt < 0) result.begunAt = report.done;
      if (killAt(report.done, report.total)) child.kill('SIGKILL');
    }
  });
  const ended = once(child, 'exit');
  child.send(order);
  await ended;
  if (failure !== null) throw new Error(failure);
  return result;
}
