import { convertModel } from '#model-store';

/* Child process of `convertInChild`: one conversion, with its progress and its peak memory as messages. */

export type ConversionOrder = Omit<Parameters<typeof convertModel>[0], 'onProgress' | 'signal'>;

export type ConversionReport =
  | { type: 'progress'; done: number; total: number }
  | { type: 'done'; peakBytes: number }
  | { type: 'failed'; message: string };

const send = (report: ConversionReport) => new Promise((resolve) => process.send?.(report, resolve));

process.once('message', (order: ConversionOrder) => {
  const onProgress = ({ done, total }: { done: number; total: number }) => void send({ type: 'progress', done, total });
  convertModel({ ...order, onProgress })
    .then(() => send({ type: 'done', peakBytes: process.resourceUsage().maxRSS * 1024 }))
    .catch((error: Error) => send({ type: 'failed', message: error.message }))
    .finally(() => process.disconnect());
});
