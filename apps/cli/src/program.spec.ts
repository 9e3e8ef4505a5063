import { Writable } from 'node:stream';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { CliConfig, parseConfig } from '#platform/config';
import { CliContext } from './cli-context.js';
import { createProgram } from './program.js';

function program(): Command {
  const sink = new Writable({ write: (_chunk, _encoding, done) => done() });
  const context = new CliContext(parseConfig(CliConfig, { SLUICE_HOME: '/nowhere' }), {
    stdout: sink,
    stderr: sink as unknown as NodeJS.WriteStream,
  });
  return createProgram(context);
}

/** Every leaf command with its full name. */
function commandsOf(command: Command, words: string[] = []): { words: string[]; command: Command }[] {
  if (command.commands.length === 0) return [{ words, command }];
  return command.commands.flatMap((each) => commandsOf(each, [...words, each.name()]));
}

const commands = commandsOf(program());

describe('the command line', () => {
  it('has commands for accounts, keys and billing', () => {
    const names = commands.map(({ words }) => words.join(' '));
    const groups = { accounts: ['create', 'list', 'show'], keys: ['create', 'list', 'revoke'] };
    const money = { credits: ['grant', 'revoke'], diem: ['set-stake'], ledger: ['verify', 'show'] };
    for (const [group, members] of Object.entries({ ...groups, ...money })) {
      expect(names).toEqual(expect.arrayContaining(members.map((member) => `${group} ${member}`)));
    }
  });

  it.each(commands.map(({ words, command }) => [words.join(' '), command] as const))(
    '%s supports --json and has a description',
    (_name, command) => {
      expect(command.options.map(({ long }) => long)).toContain('--json');
      expect(command.description()).not.toBe('');
    },
  );

  it.each(commands.map(({ words }) => words))('%s %s prints its help', async (...words) => {
    let written = '';
    const tree = program();
    const listen = (command: Command): void => {
      command.configureOutput({ writeOut: (text) => void (written += text) }).exitOverride();
      command.commands.forEach(listen);
    };
    listen(tree);
    await expect(tree.parseAsync([...words, '--help'], { from: 'user' })).rejects.toMatchObject({
      code: 'commander.helpDisplayed',
      exitCode: 0,
    });
    expect(written).toContain(`Usage: sluice ${words.join(' ')}`);
    expect(written).toContain('--json');
  });
});
