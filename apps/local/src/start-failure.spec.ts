import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { StartRefusal } from '#platform/process';
import { describeStartFailure } from './start-failure.js';

function systemError(code: string, members: object = {}): Error {
  const path = '/srv/sluice/secret.key';
  return Object.assign(new Error(`${code}: it failed, open '${path}'`), { code, syscall: 'open', path, ...members });
}

describe('describeStartFailure', () => {
  it.each([
    ['ENOSPC', 'The disk is full: free some space, or use another home: SLUICE_HOME='],
    ['EDQUOT', 'The disk is full: free some space, or use another home: SLUICE_HOME='],
    ['EROFS', 'Its file system is read-only: use another home: SLUICE_HOME='],
    ['EACCES', 'give it the folder (chown -R), or use another home: SLUICE_HOME='],
    ['EPERM', 'give it the folder (chown -R), or use another home: SLUICE_HOME='],
    ['ENOENT', 'It is missing: restore the folder from a backup'],
    ['ENOTDIR', 'A part of this path is a file'],
    ['EISDIR', 'It is a folder and should be a file'],
    ['EIO', 'Its disk reports an error'],
    ['EMFILE', 'ulimit -n 4096'],
    ['EAGAIN', 'ulimit -u'],
    ['ENOMEM', 'stop other programs, or give the machine or container more'],
  ])('says what to do about %s, and names the path', (code, advice) => {
    const line = describeStartFailure(systemError(code));
    expect(line).toContain('/srv/sluice/secret.key cannot be used');
    expect(line).toContain(advice);
    expect(line).not.toContain('\n');
  });

  it.each(['EADDRNOTAVAIL', 'ENETUNREACH'])('says how to bring up the loopback interface after %s', (code) => {
    const error = Object.assign(new Error(`listen ${code}: 127.0.0.1`), { code, syscall: 'listen' });
    expect(describeStartFailure(error)).toMatch(
      /over 127\.0\.0\.1, which this machine does not have .*ip link set lo up/,
    );
  });

  it('says what it says of the database, of a refusal and of an error of ours', () => {
    const full = Object.assign(new Error('could not extend file "base/5/1": No space left on device'), {
      code: '53100',
    });
    expect(describeStartFailure(full)).toMatch(/^The database cannot be used\. Its disk is full: free some space\./);
    expect(describeStartFailure(new StartRefusal('Stop it first.'))).toBe('Stop it first.');
    expect(describeStartFailure(new PlatformError('INVALID_REQUEST', 'No such model.'))).toBe('No such model.');
  });

  it('shows the stack of an error that nobody foresaw', () => {
    expect(describeStartFailure(new TypeError('undefined is not a function'))).toMatch(/not a function\n\s+at /);
    expect(describeStartFailure('a text')).toBe('a text');
  });
});
