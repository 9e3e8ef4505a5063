import { basename, dirname, join } from 'node:path';
import { benchOptions, modelBenchOptions } from './settings.js';
import { benchModel } from './structured/model-bench.js';
import { formatSummary } from './structured/summary.js';
import type { Report } from './report.js';

const options = benchOptions(
  `npm run bench -- structured [options]

Streams that keep to a JSON Schema beside the same streams without one, in our engine and in llama.cpp with its grammars;
the time to compile a schema and to compute a mask, beside web-xgrammar. Subjects take turns; models follow each other.`,
  {
    ...modelBenchOptions,
    model: { value: 'IDS', about: 'what writes, separated by commas', default: 'stories-15m,tinyllama-1.1b-chat' },
    streams: { value: 'N', about: 'concurrent streams', default: 16 },
    tokens: { value: 'N', about: 'tokens of each stream', default: 160 },
    only: { value: 'TEXT', about: 'subjects whose name contains this', default: '' },
  },
);

const models = options.model.split(',');
const reports: Report[] = [];
for (const model of models) {
  const json =
    options.json !== null && models.length > 1
      ? join(dirname(options.json), `${model}-${basename(options.json)}`)
      : options.json;
  reports.push(await benchModel(model, { ...options, json }));
}
process.stdout.write(`\n${formatSummary(reports)}\n`);
process.exit(0);
