import type { Command } from 'commander';
import { PlatformError } from '#common';
import { errorText } from '#common/values';
import type { SearchResult } from '#web';
import type { CliContext } from '../cli-context.js';

interface TestOptions {
  count: string;
  json?: boolean;
}

/** What one provider answered. */
interface Trial {
  provider: string;
  results: SearchResult[] | null;
  /** What to fix; null where it works. */
  problem: string | null;
}

/** `sluice search …` */
export function addSearchCommands(program: Command, context: CliContext): void {
  const search = program.command('search').description('web search').helpCommand(false);
  search
    .command('test')
    .description('ask every configured provider, and print what came and what to fix')
    .argument('<query>')
    .option('--count <number>', 'results per provider, 1 to 20', '3')
    .option('--json', 'print one JSON document to stdout')
    .action((query: string, options: TestOptions) => testSearch(context, query, options));
}

async function testSearch(context: CliContext, query: string, { count: countText, json }: TestOptions): Promise<void> {
  const count = Number(countText);
  if (!Number.isInteger(count) || count < 1 || count > 20) {
    throw new PlatformError('INVALID_REQUEST', '--count must be a whole number from 1 to 20.', '--count');
  }
  const { createProviders } = await import('#web');
  const providers = createProviders(context.config.search);
  if (providers.length === 0) {
    const message =
      'Web search is off: name providers in SLUICE_SEARCH_PROVIDERS, such as searxng (docs/operate/web-search.md).';
    throw new PlatformError('INVALID_REQUEST', message);
  }
  const trials = await Promise.all(
    providers.map(async (provider): Promise<Trial> => {
      try {
        const results = await provider.search({ query, count }, context.signal);
        return { provider: provider.name, results, problem: null };
      } catch (error) {
        context.signal.throwIfAborted();
        return {
          provider: provider.name,
          results: null,
          problem: errorText(error),
        };
      }
    }),
  );
  if (json) context.output.json(trials);
  else for (const trial of trials) print(context, trial);
  if (trials.every(({ problem }) => problem !== null)) {
    throw new PlatformError('SERVICE_UNAVAILABLE', 'No search provider answered.');
  }
}

function print({ output }: CliContext, { provider, results, problem }: Trial): void {
  if (results === null) return output.line(`${provider}: failed. ${problem}`);
  output.line(`${provider}: ${results.length} ${results.length === 1 ? 'result' : 'results'}`);
  for (const { title, url, snippet, date } of results) {
    output.line(`  ${title}${date === undefined ? '' : ` (${date})`}`);
    output.line(`    ${url}`);
    if (snippet !== '') output.line(`    ${snippet.slice(0, 160)}`);
  }
}
