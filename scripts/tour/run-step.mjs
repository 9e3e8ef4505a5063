import { APIError } from 'openai';

/** Reported by a step that cannot run, with the reason. */
export class StepSkipped extends Error {
  name = 'StepSkipped';
}

/**
 * Runs one step and prints its line: state, name, model, time, size and what came. Returns `ok`, `missing` (no model, or
 * nothing to work on), `refused` (a 4xx) or `failed`.
 */
export async function runStep(step, context) {
  const model = await context.models.choose(step.model, context).catch(() => null);
  if (model === null) return print({ state: 'missing', step, note: `no model is online: ${step.pull}` });
  const startedAt = performance.now();
  const line = (state, note, bytes) => {
    const ms = Math.round(performance.now() - startedAt);
    return print({ state, step, model: model.id, ms, bytes, note });
  };
  try {
    const { bytes, note, result } = await step.run({ ...context, model: model.id, spec: model.model_spec });
    if (result !== undefined) context.results.set(step.name, result);
    return line('ok', note, bytes);
  } catch (error) {
    if (error instanceof StepSkipped) return line('missing', error.message);
    const isRefusal = error instanceof APIError && error.status >= 400 && error.status < 500;
    return line(isRefusal ? 'refused' : 'failed', error instanceof Error ? error.message : String(error));
  }
}

function print({ state, step, model = '–', ms = null, bytes = null, note = '' }) {
  const time = ms === null ? '–' : `${ms} ms`;
  const size = bytes === null ? '–' : bytes < 10_000 ? `${bytes} B` : `${(bytes / 1_000).toFixed(0)} kB`;
  const head = `${state.padEnd(8)} ${step.name.padEnd(19)} ${model.padEnd(20)} ${time.padStart(9)} ${size.padStart(9)}`;
  console.log(`${head}  ${note.replaceAll('\n', ' ').slice(0, 100)}`.trimEnd());
  return state;
}
