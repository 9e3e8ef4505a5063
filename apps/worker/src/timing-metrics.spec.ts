import { describe, expect, it } from 'vitest';
import { noTokens, PlatformError } from '#common';
import type { RunEvent, RunOptions, RunResult, TextGenerationRequest } from '#inference/host';
import { Metrics } from '#platform/metrics';
import { ModelTimings } from './model-timings.js';
import { TimedRunner } from './timed-runner.js';
import { registerTimings } from './timing-metrics.js';

function delta(text: string): RunEvent {
  return { type: 'text-delta', index: 0, text, tokens: 1, logprobs: null };
}

/** Emits each step, then the result. */
function runnerOf(steps: RunEvent[][], result: RunResult) {
  return {
    run: async (_request: TextGenerationRequest, options: RunOptions) => {
      for (const events of steps) {
        options.onEvents(events);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return result;
    },
    runTask: async () => ({ cancelled: false, output: null }),
  };
}

const request = { id: 'r', n: 1 } as TextGenerationRequest;
const signal = new AbortController().signal;

async function rendered(timings: ModelTimings): Promise<string> {
  const metrics = new Metrics('worker', { processMetrics: false });
  registerTimings(metrics, () => [{ id: 'tiny', timings }]);
  return await metrics.render();
}

const labels = 'gen_ai_operation_name="chat",gen_ai_provider_name="sluice",gen_ai_request_model="tiny"';

describe('job timings', () => {
  it('contain one time to first token and one mean per text, and the time between two steps', async () => {
    const timings = new ModelTimings();
    const usage = { ...noTokens, promptTokens: 5, completionTokens: 3 };
    const steps = [
      [{ type: 'prompt-ready', promptTokens: 5, cachedTokens: 0 } as RunEvent],
      ...['a', 'b', 'c'].map((text) => [delta(text)]),
    ];
    const runner = new TimedRunner(runnerOf(steps, { cancelled: false, usage }), timings);
    const seen: RunEvent[] = [];
    await timings.of('chat').time(async () => {
      const { cancelled } = await runner.run(request, { signal, onEvents: (events) => seen.push(...events) });
      return { usage, cancelled, executionMs: 1 };
    });
    timings.of('chat').pickup.add(0.02);
    expect(seen).toEqual(steps.flat());
    const text = await rendered(timings);
    expect(text).toContain(`gen_ai_server_time_to_first_token_seconds_count{${labels},app="worker"} 1`);
    expect(text).toContain(`gen_ai_server_time_per_output_token_seconds_count{${labels},app="worker"} 1`);
    expect(text).toContain(`sluice_engine_inter_token_seconds_count{${labels},app="worker"} 2`);
    expect(text).toContain(`gen_ai_server_request_duration_seconds_count{${labels},error_type="",app="worker"} 1`);
    expect(text).toContain(`gen_ai_client_token_usage_sum{${labels},gen_ai_token_type="input",app="worker"} 5`);
    expect(text).toContain(`gen_ai_client_token_usage_sum{${labels},gen_ai_token_type="output",app="worker"} 3`);
    expect(text).toContain(
      'sluice_queue_pickup_seconds_bucket{le="0.025",modality="chat",model="tiny",app="worker"} 1',
    );
  });

  it('separate failed and cancelled jobs, and omit text that did not finish', async () => {
    const timings = new ModelTimings();
    const runner = new TimedRunner(runnerOf([[delta('a')]], { cancelled: true, usage: { ...noTokens } }), timings);
    const options = { signal, onEvents: () => undefined };
    const cancelled = async () => {
      await runner.run(request, options);
      return { usage: null, cancelled: true, executionMs: 1 };
    };
    await timings.of('chat').time(cancelled);
    const lost = new PlatformError('DEVICE_LOST', 'lost');
    await expect(timings.of('chat').time(() => Promise.reject(lost))).rejects.toBe(lost);
    const text = await rendered(timings);
    expect(text).toContain(`_duration_seconds_count{${labels},error_type="JOB_CANCELLED",app="worker"} 1`);
    expect(text).toContain(`_duration_seconds_count{${labels},error_type="DEVICE_LOST",app="worker"} 1`);
    expect(text).toContain(`gen_ai_server_time_to_first_token_seconds_count{${labels},app="worker"} 0`);
  });
});
