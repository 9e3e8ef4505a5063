import { afterEach, describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { maxSilenceMs } from '#test/hostile-run';
import { measureSilence } from '#test/loop-silence';
import { wordTrie } from '#test/word-trie';
import { ConstraintCompiler } from '../constraints/constraint-compiler.js';
import type { TokenConstraint } from '../sampling/token-constraint.js';
import { BatchScheduler } from './batch-scheduler.js';
import { FakeGraphSession, greedyAlone } from './fake-graph-session.js';
import { openDecoder } from './open-decoder.js';
import { RecordingListener, sequenceRequest } from './recording-listener.js';
import type { SequenceRequest } from './sequence.js';

/* A row whose constraint does not know yet what may follow sits out; the others go on. */

const open: BatchScheduler[] = [];
afterEach(async () => {
  for (const scheduler of open.splice(0)) await scheduler.close();
});

function start(slots = 8) {
  const decoder = openDecoder(new FakeGraphSession({}), { slots });
  const scheduler = new BatchScheduler({ decoder, slots, contextLength: 4096, cacheTokens: 32_768 });
  open.push(scheduler);
  let count = 0;
  return (prompt: readonly number[], members: Partial<SequenceRequest> = {}): RecordingListener => {
    const listener = new RecordingListener();
    scheduler.submit(sequenceRequest({ id: `s${count++}`, prompt, listener, ...members }));
    return listener;
  };
}

const prompt = [3, 1, 4, 1, 5];
const bits = new Uint32Array(32).fill(-1);

/** Allows every token, and needs to be asked so often behind each one. */
function slow(calls: number, onWait: () => void = () => undefined): TokenConstraint {
  let left = 0;
  return {
    prepare: () => {
      if (left === 0) return true;
      left--;
      onWait();
      return false;
    },
    allowed: () => {
      if (left > 0) throw new Error('It was asked before it knew.');
      return { bits, endings: [] };
    },
    accept: () => void (left = calls),
    isFinished: () => {
      if (left > 0) throw new Error('It was asked before it knew.');
      return false;
    },
  };
}

describe('BatchScheduler with slow constraints', () => {
  it('decodes the other rows while one is not ready, and goes on with it as if it had been', async () => {
    const submit = start();
    const other = submit(prompt, { maxNewTokens: 100 });
    const seen = new Set<number>();
    const constrained = submit(prompt, {
      maxNewTokens: 4,
      constraint: slow(20, () => seen.add(other.tokens.length)),
    });
    await Promise.all([other.done, constrained.done]);
    expect(constrained.failure).toBeNull();
    expect(constrained.tokens).toEqual(greedyAlone(prompt, 4));
    expect(constrained.end).toBe('length');
    expect(other.failure).toBeNull();
    expect(other.tokens).toEqual(greedyAlone(prompt, 100));
    // One step of the other row for each time that it was not ready.
    expect(seen.size).toBeGreaterThan(60);
  });

  it('lets the event loop turn while no row is ready', async () => {
    const submit = start();
    let turns = 0;
    const turn = (): void => {
      turns++;
      if (constrained.end === null) setImmediate(turn);
    };
    const constrained = submit(prompt, { maxNewTokens: 3, constraint: slow(30) });
    setImmediate(turn);
    await constrained.done;
    expect(turns).toBeGreaterThan(60);
    expect(constrained.tokens).toEqual(greedyAlone(prompt, 3));
  });

  it('fails a row whose constraint gives up while it works, and cancels one that is not ready', async () => {
    const submit = start();
    let calls = 0;
    const constraint = slow(1_000_000, () => {
      if (++calls > 5) throw new PlatformError('INVALID_REQUEST', 'too ambiguous');
    });
    const failed = submit(prompt, { maxNewTokens: 9, constraint });
    const other = submit(prompt, { maxNewTokens: 40 });
    await Promise.all([failed.done, other.done]);
    expect(failed.failure).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(other.tokens).toEqual(greedyAlone(prompt, 40));
  });

  it('decodes a plain row beside rows whose every token needs a slow mask', async () => {
    const submit = start();
    // The model of this test has 97 tokens, the vocabulary of the constraint 30,000.
    const compiler = new ConstraintCompiler(wordTrie(30_000));
    const pattern = '(.*A.{120}|.*E.{120}|.*O.{120}){1,9}';
    const compiled = await compiler.compile({ type: 'regex', pattern, param: 'pattern' });
    let waits = 0;
    let calls = 0;
    const whilePending = new Set<number>();
    const watched = (): TokenConstraint => {
      const matcher = compiled.newMatcher([0]);
      const prepare = matcher.prepare.bind(matcher);
      return Object.assign(matcher, {
        prepare: (ms: number) => {
          // On a fast machine too, these masks take several steps.
          const isReady = prepare(++calls % 4 === 0 ? ms : 0);
          if (isReady) return true;
          waits++;
          whilePending.add(plain.tokens.length);
          return false;
        },
      });
    };
    const plain = submit(prompt, { maxNewTokens: 150 });
    const { longestMs } = await measureSilence(async () => {
      const hostile = Array.from({ length: 4 }, (_, index) =>
        submit([...prompt, index], {
          maxNewTokens: 60,
          constraint: watched(),
          sampling: { temperature: 4, seed: index + 1 },
        }),
      );
      await plain.done;
      await Promise.all(hostile.map(({ done }) => done));
    });
    expect(plain.tokens).toEqual(greedyAlone(prompt, 150));
    expect(waits).toBeGreaterThan(1);
    expect(whilePending.size).toBeGreaterThan(0);
    expect(longestMs).toBeLessThan(maxSilenceMs);
  });
});
