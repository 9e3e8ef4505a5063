import { fileURLToPath } from 'node:url';
import { resolve } from 'node:path';
import { TextTokenizer } from '#inference';
import type { BenchSubject, Figures } from '../report.js';
import { BenchChild } from '../text/child.contender.js';
import { everydayDocument, everydaySchema } from './schemas.js';

/** What a matcher does in one run: compile a schema, then read a document of it token by token, twice. */
export interface MatcherPlan {
  schema: object;
  /** Tokens of the document. */
  ids: number[];
}

/**
 * Compile time, the first mask, and the mean time of a mask: in the first document of a schema, and in the second, whose
 * masks are known.
 */
export async function matcherSubjects(folder: string): Promise<BenchSubject[]> {
  const ours = await BenchChild.start(fileURLToPath(new URL('./matcher.child.js', import.meta.url)), { folder });
  const peer = await BenchChild.start(resolve('bench/peers/xgrammar.mjs'), { folder });
  const ids = longestTokens((await TextTokenizer.load(folder)).tokenBytes ?? [], everydayDocument);
  const subject = (name: string, child: BenchChild): BenchSubject => ({
    name: `matcher, ${name}`,
    run: async (round) => {
      const plan: MatcherPlan = { schema: everydaySchema(`round ${round}`), ids };
      return (await child.call('run', plan)) as Figures;
    },
    close: () => child.close(),
  });
  return [subject('sluice', ours), subject('web-xgrammar', peer)];
}

/** A text in the longest tokens from its start on: a tokenizer would put a blank before it. */
function longestTokens(table: readonly Uint8Array[], text: string): number[] {
  const idOf = new Map(table.map((bytes, id) => [Buffer.from(bytes).toString('latin1'), id]));
  const bytes = Buffer.from(text).toString('latin1');
  const ids: number[] = [];
  for (let at = 0; at < bytes.length;) {
    let length = Math.min(32, bytes.length - at);
    while (!idOf.has(bytes.slice(at, at + length))) length--;
    ids.push(idOf.get(bytes.slice(at, at + length)) ?? 0);
    at += length;
  }
  return ids;
}
