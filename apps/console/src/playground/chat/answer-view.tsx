import type { JSX } from 'preact';
import { CopyButton } from '../../components/copy-button.js';
import { PlaceLink } from '../../components/place-link.js';
import { Failure } from '../../components/states.js';
import { formatMoney } from '../../format/money.js';
import { formatCount, formatRate } from '../../format/numbers.js';
import { formatDuration } from '../../format/time.js';
import { StreamView } from '../markdown/stream-view.js';
import type { Phase, RunState, ToolCall } from './chat-run.js';
import type { Answer } from './conversation.js';

const phases: Record<Phase, string> = {
  queued: 'Queued',
  reading: 'Reading the prompt',
  thinking: 'Thinking',
  answering: 'Answering',
  done: 'Done',
  stopped: 'Stopped',
  failed: 'Failed',
};

const endings: Record<string, string> = {
  length: 'The answer reached its longest length.',
  tool_calls: 'The model calls tools.',
};

/** An answer as it arrives: what the model does, its reasoning, its text, its tool calls and its figures. */
export function AnswerView({ answer, contextTokens }: { answer: Answer; contextTokens: number | null }): JSX.Element {
  const { state, text, reasoning, model } = answer;
  const isRunning = state.totalMs === null;
  const hasReasoning = reasoning.text !== '';
  return (
    <article class="answer" aria-label={`Answer of ${model}`} aria-busy={isRunning}>
      <p class="phase">
        {isRunning && <span class="spinner" aria-hidden="true" />}
        <strong role="status">{phases[state.phase]}</strong>
        {isRunning && <span class="weak">{formatDuration(state.elapsedMs)}</span>}
      </p>
      {hasReasoning && (
        <details class="reasoning" open={state.phase === 'thinking'}>
          <summary>Reasoning</summary>
          <StreamView source={reasoning} label="Reasoning" />
        </details>
      )}
      <StreamView source={text} label="Answer" />
      {state.toolCalls.map((call) => (
        <ToolCallView key={call.id} call={call} />
      ))}
      {state.finishReason !== null && endings[state.finishReason] !== undefined && (
        <p class="weak small">{endings[state.finishReason]}</p>
      )}
      {state.warnings.map((warning) => (
        <p key={warning} class="notice notice-warning">
          {warning}
        </p>
      ))}
      {state.error !== null && <Failure error={state.error} />}
      <AnswerFigures state={state} contextTokens={contextTokens} />
      {!isRunning && text.text !== '' && <CopyButton text={text.text} label="Copy the answer" />}
    </article>
  );
}

function ToolCallView({ call: { name, input } }: { call: ToolCall }): JSX.Element {
  return (
    <figure class="tool-call">
      <figcaption>
        Call of <code>{name}</code>
      </figcaption>
      <pre>{input}</pre>
    </figure>
  );
}

function AnswerFigures({
  state,
  contextTokens,
}: {
  state: RunState;
  contextTokens: number | null;
}): JSX.Element | null {
  const figures = answerFigures(state, contextTokens);
  if (figures.length === 0) return null;
  return (
    <dl class="answer-figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function answerFigures(state: RunState, contextTokens: number | null): [string, JSX.Element | string][] {
  const { firstTokenMs, rate, totalMs, promptTokens, cachedTokens, completionTokens, reasoningTokens } = state;
  const figures: [string, JSX.Element | string][] = [];
  if (firstTokenMs !== null) figures.push(['First token', formatDuration(firstTokenMs)]);
  if (rate !== null) figures.push(['Tokens/s', formatRate(rate)]);
  if (totalMs !== null) figures.push(['In all', formatDuration(totalMs)]);
  if (promptTokens !== null && completionTokens !== null) {
    const cached = cachedTokens !== null && cachedTokens > 0 ? ` (${formatCount(cachedTokens)} cached)` : '';
    const thought =
      reasoningTokens !== null && reasoningTokens > 0 ? ` (${formatCount(reasoningTokens)} reasoning)` : '';
    figures.push(['Prompt', `${formatCount(promptTokens)}${cached}`]);
    figures.push(['Output', `${formatCount(completionTokens)}${thought}`]);
    if (contextTokens !== null) {
      const share = Math.round(((promptTokens + completionTokens) * 100) / contextTokens);
      figures.push(['Context', `${share} % of ${formatCount(contextTokens)}`]);
    }
  }
  const { costUsd, costDiem, requestId } = state;
  if (costUsd !== null) figures.push(['Cost', formatMoney(costUsd)]);
  if (costDiem !== null && costDiem !== '0') figures.push(['Cost in DIEM', formatMoney(costDiem, 'DIEM')]);
  if (requestId !== null && totalMs !== null) {
    figures.push([
      'Request',
      <PlaceLink view="requests" entry={requestId}>
        {requestId}
      </PlaceLink>,
    ]);
  }
  return figures;
}
