import { once } from 'node:events';
import { createWriteStream, writeSync } from 'node:fs';
import { DocumentFault } from '../document-fault.js';
import { extractDocument } from '../extract-document.js';
import { framed, type RequestHead, type ReportHead, startMarkBytes, unframed } from './extraction-protocol.js';
import { blockNetwork } from './network-block.js';

/*
 * Entry point of the extractor: reads one document, reports its text, exits. Whatever a parser throws is the fault of
 * the file. A package that cannot be loaded is not: the process fails without a report.
 */

const outputDescriptor = 3;
const damaged = 'is damaged';
let reported = false;

async function report(head: ReportHead, text = ''): Promise<never> {
  if (reported) return await new Promise<never>(() => undefined);
  reported = true;
  const output = createWriteStream('', { fd: outputDescriptor });
  output.write(framed(head));
  output.end(text);
  await once(output, 'finish');
  process.exit(0);
}

function faultOf(error: unknown): string {
  if (error instanceof DocumentFault) return error.message;
  if ((error as NodeJS.ErrnoException | null)?.code === 'ERR_MODULE_NOT_FOUND') process.exit(1);
  return damaged;
}

async function extract(): Promise<void> {
  blockNetwork();
  const request = unframed(Buffer.concat(await process.stdin.toArray()));
  if (request === null) process.exit(1);
  writeSync(outputDescriptor, Buffer.alloc(startMarkBytes));
  const { body } = request;
  const head = request.head as RequestHead;
  try {
    if (head.page !== undefined) {
      // The other formats must not pay for the packages of pages.
      const { extractPage } = await import('../formats/page.js');
      const { isTruncated, ...page } = await extractPage(body, head.page, head.limits.maxCharacters);
      await report({ format: 'page', isTruncated }, JSON.stringify(page));
    }
    const { text, ...rest } = await extractDocument(body, head.hints, head.limits);
    await report(rest, text);
  } catch (error) {
    await report({ fault: faultOf(error) });
  }
}

// Parsers warn on the console, and their promises may never end.
for (const name of ['log', 'info', 'warn', 'error', 'debug'] as const) console[name] = () => undefined;
process.on('uncaughtException', (error) => void report({ fault: faultOf(error) }));
// PDF.js goes on after many of its own rejections; the extraction itself decides.
process.on('unhandledRejection', () => undefined);
process.on('beforeExit', () => void report({ fault: damaged }));
void extract();
