import { describe, expect, it } from 'vitest';
import { RequestError } from '../../api/request-error.js';
import { type AnswerSink, AnswerTracker, type Chunk } from './chat-run.js';

class Recorder implements AnswerSink {
  text = '';
  reasoning = '';
  appendText(text: string): void {
    this.text += text;
  }
  appendReasoning(text: string): void {
    this.reasoning += text;
  }
}

function start(): {
  tracker: AnswerTracker;
  sink: Recorder;
  at(ms: number, chunk: Chunk): void;
  now(ms: number): void;
} {
  let time = 1000;
  const sink = new Recorder();
  const tracker = new AnswerTracker(sink, () => time);
  const now = (ms: number): void => {
    time = 1000 + ms;
  };
  return {
    tracker,
    sink,
    now,
    at: (ms, chunk) => {
      now(ms);
      tracker.add(chunk);
    },
  };
}

const delta = (content: object): Chunk => ({ choices: [{ delta: content, finish_reason: null }] });

describe('AnswerTracker', () => {
  it('follows a model from the queue to the answer', () => {
    const { tracker, sink, at } = start();
    expect(tracker.snapshot().phase).toBe('queued');
    at(400, delta({ role: 'assistant', content: '' }));
    expect(tracker.snapshot()).toMatchObject({ phase: 'reading', firstTokenMs: null, elapsedMs: 400 });
    at(900, delta({ reasoning_content: 'hm', reasoning: 'hm' }));
    expect(tracker.snapshot()).toMatchObject({ phase: 'thinking', firstTokenMs: 900 });
    at(1000, delta({ content: 'Hel' }));
    at(1100, delta({ content: 'lo' }));
    expect(tracker.snapshot().phase).toBe('answering');
    expect([sink.reasoning, sink.text]).toEqual(['hm', 'Hello']);
  });

  it('shows a live rate that counts reasoning, and at the end the average of all tokens', () => {
    const { tracker, at } = start();
    for (let index = 0; index <= 20; index += 1) at(1000 + index * 50, delta({ reasoning_content: 'a' }));
    expect(tracker.snapshot().rate).toBeCloseTo(21, 0);
    at(2000, {
      choices: [],
      usage: {
        prompt_tokens: 12,
        completion_tokens: 42,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 42 },
      },
      cost: { usd: 0.0000312, diem: 7e-7 },
    });
    const state = tracker.finish('done');
    expect(state).toMatchObject({
      promptTokens: 12,
      cachedTokens: 4,
      completionTokens: 42,
      reasoningTokens: 42,
      costUsd: '0.0000312',
      costDiem: '0.0000007',
      totalMs: 2000,
      firstTokenMs: 1000,
      phase: 'done',
    });
    // 21 deltas with 42 tokens: two tokens each.
    expect(state.rate).toBeCloseTo(40, 0);
  });

  it('joins tool calls from their pieces', () => {
    const { tracker, at } = start();
    const call = (piece: object): Chunk => delta({ tool_calls: [{ index: 0, ...piece }] });
    at(10, call({ id: 'call_a', function: { name: 'now', arguments: '' } }));
    at(20, call({ function: { arguments: '{"zone"' } }));
    at(30, call({ function: { arguments: ':"UTC"}' } }));
    at(40, delta({ tool_calls: [{ index: 1, id: 'call_b', custom: { name: 'patch', input: '+' } }] }));
    at(50, { choices: [{ delta: {}, finish_reason: 'tool_calls' }] });
    expect(tracker.finish('done')).toMatchObject({
      finishReason: 'tool_calls',
      toolCalls: [
        { id: 'call_a', name: 'now', input: '{"zone":"UTC"}' },
        { id: 'call_b', name: 'patch', input: '+' },
      ],
    });
  });

  it('keeps warnings of every chunk', () => {
    const { tracker, at } = start();
    at(1, { warnings: [{ code: 'schema_relaxed', message: 'The pattern was left out.' }] });
    at(2, { warnings: [{ code: 'schema_violated' }] });
    expect(tracker.snapshot().warnings).toEqual(['The pattern was left out.', 'schema_violated']);
  });

  it('ends with the error of the stream and its request', () => {
    const { tracker, at } = start();
    tracker.setRequestId('00112233-SLC');
    const attempt = () => at(5, { error: { message: 'The worker stopped', code: 'INFERENCE_FAILED' } });
    expect(attempt).toThrow(new RequestError(500, 'The worker stopped.', 'INFERENCE_FAILED', '00112233-SLC'));
  });

  it('does not change after its end', () => {
    const { tracker, now } = start();
    now(100);
    const state = tracker.finish('stopped');
    now(5000);
    expect(tracker.snapshot()).toEqual(state);
    expect(state).toMatchObject({ phase: 'stopped', totalMs: 100, elapsedMs: 100 });
  });
});
