import { afterEach, describe, expect, it, vi } from 'vitest';
import { PlatformError } from '#common';
import { CliConfig, parseConfig } from '#platform/config';
import { CliContext } from './cli-context.js';
import { reportFailure } from './report-failure.js';
import { runCommand } from './run-command.js';

afterEach(() => vi.restoreAllMocks());

function capture(stream: 'stdout' | 'stderr'): string[] {
  const written: string[] = [];
  vi.spyOn(process[stream], 'write').mockImplementation((text) => written.push(String(text)) > 0);
  return written;
}

const exitCodeOf = (line: string[]) => runCommand(new CliContext(parseConfig(CliConfig, {})), line);

describe('the exit of a command', () => {
  it('is 1 with one plain line for a failure', () => {
    const stderr = capture('stderr');
    expect(reportFailure(new PlatformError('MODEL_NOT_FOUND', 'No such model.'), false)).toBe(1);
    expect(stderr).toEqual(['sluice: No such model.\n']);
  });

  it('includes the code as JSON with --json', () => {
    capture('stderr');
    const stdout = capture('stdout');
    reportFailure(new PlatformError('MODEL_NOT_FOUND', 'No such model.'), true);
    expect(JSON.parse(stdout.join(''))).toEqual({ error: { code: 'MODEL_NOT_FOUND', message: 'No such model.' } });
  });

  it('says what went wrong inside, which a caller of the API never reads', () => {
    const [stderr, stdout] = [capture('stderr'), capture('stdout')];
    const reason = 'Softmax requires f16';
    const message = 'The service failed to answer this request.';
    reportFailure(new PlatformError('INFERENCE_FAILED', message, null, { reason }), true);
    expect(stderr).toEqual([`sluice: ${message} Reason: ${reason}\n`]);
    expect(JSON.parse(stdout.join(''))).toEqual({ error: { code: 'INFERENCE_FAILED', message, reason } });
  });

  it('is 0 for help, and 1 for an unknown command with a pointer to help', async () => {
    const stdout = capture('stdout');
    const stderr = capture('stderr');
    expect(await exitCodeOf(['models', 'pull', '--help'])).toBe(0);
    expect(stdout.join('')).toContain('Usage: sluice models pull');
    expect(await exitCodeOf(['models', 'fetch'])).toBe(1);
    expect(stderr.join('')).toContain("unknown command 'fetch'");
  });

  it.each(['list', 'show', 'pull', 'add', 'remove', 'offline', 'check'])(
    'rejects "models %s" with --json',
    async (name) => {
      const stdout = capture('stdout');
      expect(await exitCodeOf(['models', name, '--help'])).toBe(0);
      expect(stdout.join('')).toContain('--json');
    },
  );
});
