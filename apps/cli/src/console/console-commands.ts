import type { Command } from 'commander';
import { ConsoleLinksService, ConsoleSessionsRepository } from '#accounts';
import { PlatformError } from '#common';
import { resolveAccount } from '../accounts/resolve-account.js';
import type { CliContext } from '../cli-context.js';

interface LinkOptions {
  account?: string;
  url?: string;
  json?: boolean;
}

/** `sluice console …` */
export function addConsoleCommands(program: Command, context: CliContext): void {
  const group = program.command('console').description('the console in a browser').helpCommand(false);
  group
    .command('link')
    .description('print a link that signs in to the console once, within 10 minutes')
    .option('--account <account>', 'id or name of an account with an ADMIN key; default: an operator account')
    .option('--url <address>', 'address at which browsers reach the api; default: that of the running installation')
    .option('--json', 'print one JSON document to stdout')
    .action((options: LinkOptions) => printLink(context, options));
}

async function printLink(context: CliContext, { account, url, json }: LinkOptions): Promise<void> {
  const address = url ?? (await originOf(context));
  if (address === null || !/^https?:\/\//.test(address) || !URL.canParse(address)) {
    throw new PlatformError('INVALID_REQUEST', 'Name the address of the api: --url https://api.example.org');
  }
  const accountId = account === undefined ? null : (await resolveAccount(context, account)).id;
  const links = new ConsoleLinksService(new ConsoleSessionsRepository(await context.requireDatabase()));
  const path = await links.create(accountId);
  if (path === null) {
    const hint = 'sluice keys create --kind ADMIN, or sluice accounts operator <account>';
    throw new PlatformError('NOT_FOUND', `There is no account with a valid ADMIN key to sign in with. See: ${hint}`);
  }
  const link = `${address.endsWith('/') ? address : `${address}/`}${path}`;
  if (json) return context.output.json({ link });
  context.output.line(link);
}

/** The address of the api without the base path of its routes. */
async function originOf(context: CliContext): Promise<string | null> {
  return (await context.baseUrl())?.replace(/\/api\/v1\/?$/, '') ?? null;
}
